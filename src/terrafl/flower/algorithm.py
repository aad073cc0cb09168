"""A Flower strategy as an algorithm: it makes the next global model out of replies."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from flwr.app import Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import Strategy

from terrafl.algorithms import Algorithm, Mean, NotAggregated
from terrafl.algorithms.means import mean_of_given_weights
from terrafl.errors import ConfigurationError
from terrafl.flower.history import History
from terrafl.flower.model_arrays import Arrays, ModelArrays, to_numpy, to_record
from terrafl.flower.reply_checks import Reply
from terrafl.flower.strategy_state import StrategyState
from terrafl.flower.subset import weight_key
from terrafl.records import Population, State, Update, Vector


@dataclass(slots=True, eq=False)
class StrategyAlgorithm(Algorithm):
    """Lets a Flower strategy aggregate; dtypes and integer arrays are kept.

    Parameters
    ----------
    strategy
        Any Flower strategy, as it is before its first round.
    model
        The global model, shared with the federation.
    history
        Where the strategy's metrics go.
    keeps_updates
        Whether updates of earlier iterations come again, after a restart without their replies.
    """

    name: ClassVar[str] = "flower"

    strategy: Strategy
    model: ModelArrays
    history: History
    keeps_updates: bool = False
    # By client, what a vector does not hold: types, and arrays without floats.
    _kept: dict[str, Arrays] = field(default_factory=dict, init=False)
    _state: StrategyState = field(init=False)
    _step: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._state = StrategyState(self.strategy)

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Let the strategy make the next model, at a step that grows by one every time."""
        if mean is mean_of_given_weights:
            raise ConfigurationError(
                "given weights cannot be used with a Flower strategy, which has its own mean; got "
                f"{type(self.strategy).__name__}: return a Cohort without weights."
            )
        self._step += 1
        if self.keeps_updates:
            self._kept = {u.client_id: self._reply_arrays(u) for u in updates}
        messages = [self._message(update) for update in updates]
        new, metrics = self.strategy.aggregate_train(self._step, messages)
        if new is None:
            raise NotAggregated("the strategy made no model")
        if not all(np.isfinite(array.numpy()).all() for array in new.values()):
            raise NotAggregated("the model is not finite")
        if metrics is not None:
            self.history.train[updates[0].report.round + 1] = metrics
        return self.model.replace(new)

    def _message(self, update: Update) -> Message:
        """Return the reply of an update with its weight, and its arrays if they were changed."""
        key, source = weight_key(self.strategy), update.source
        if not isinstance(source, Reply):  # an update of before a restart
            arrays = self.model.layout.arrays(update.vector, self._kept[update.client_id])
            metrics = MetricRecord({**update.metrics, key: update.weight})
            content = RecordDict({"arrays": to_record(arrays), "metrics": metrics})
            return Message(content, 0, "train")
        content = source.message.content
        (array_key,), (metric_key,) = content.array_records, content.metric_records
        vector = self.model.layout.vector(source.arrays)
        is_same = np.array_equal(update.vector, vector)
        if not is_same or list(content.array_records[array_key]) != list(source.arrays):
            content[array_key] = to_record(
                source.arrays if is_same else self.model.layout.arrays(update.vector, source.arrays)
            )
        if source.metrics[key] != update.weight:
            content[metric_key] = MetricRecord({**source.metrics, key: update.weight})
        return source.message

    def _reply_arrays(self, update: Update) -> Arrays:
        source = update.source
        return source.arrays if isinstance(source, Reply) else self._kept[update.client_id]

    def state(self) -> State:
        """Return the strategy's state and the arrays that are not part of the vector."""
        integers, floats = self.model.integers(), self.model.layout.places
        return {
            "step": self._step,
            **self._state.collect(),
            "integers": list(integers),
            "dtypes": self.model.dtypes(),
            "kept": {
                c: {k: a.dtype.str for k, a in kept.items()} for c, kept in self._kept.items()
            },
            **{f"integer/{i}": array for i, array in enumerate(integers.values())},
            **{
                f"kept/{i}/{name}": array
                for i, kept in enumerate(self._kept.values())
                for name, array in kept.items()
                if name not in floats
            },
        }

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        arrays = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
        self._state.restore(state)
        names = state["integers"]
        assert isinstance(names, Sequence)
        integers = {str(name): arrays[f"integer/{i}"] for i, name in enumerate(names)}
        self.model.restore(integers, state["dtypes"])  # type: ignore[arg-type]  # as stored
        current = to_numpy(self.model.record)
        self._kept = {
            client: {k: arrays.get(f"kept/{i}/{k}", current[k]).astype(t) for k, t in types.items()}
            for i, (client, types) in enumerate(state["kept"].items())  # type: ignore[union-attr]
        }
        self._step = int(state["step"])  # type: ignore[arg-type]  # as stored
