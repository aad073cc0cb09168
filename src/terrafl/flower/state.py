"""Where a run on Flower stands: all that a checkpoint must hold, and nothing random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord
from numpy.typing import NDArray

from terrafl.engine.state import Costs
from terrafl.flower.base_state import BaseState
from terrafl.guard import Guard
from terrafl.runs.checkpoint import Checkpoint
from terrafl.runs.summary import Point
from terrafl.selection import Cohort, Selector

__all__ = ["FlowerState", "History"]

Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(slots=True)
class History:
    """The metrics of the rounds so far, by Flower's number of the round.

    Parameters
    ----------
    train, evaluate
        Averages over clients.
    central
        What the caller's ``evaluate_fn`` returned.
    """

    train: dict[int, MetricRecord] = field(default_factory=dict)
    evaluate: dict[int, MetricRecord] = field(default_factory=dict)
    central: dict[int, MetricRecord] = field(default_factory=dict)

    def to_plain(self) -> dict[str, dict[str, dict[str, Any]]]:  # Any: what JSON can hold
        """Return the metrics as JSON values; what is not finite is none, and left out."""
        return {
            name: {str(number): _finite(metrics) for number, metrics in kept.items()}
            for name, kept in (
                ("train", self.train),
                ("evaluate", self.evaluate),
                ("central", self.central),
            )
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> History:
        """Take up what :meth:`to_plain` returned."""
        return cls(
            **{
                name: {int(number): MetricRecord(dict(m)) for number, m in kept.items()}
                for name, kept in plain.items()
            }
        )


def _finite(metrics: MetricRecord) -> dict[str, Any]:  # Any: what JSON can hold
    return {name: value for name, value in metrics.items() if np.isfinite(value).all()}


@dataclass(slots=True, eq=False)
class FlowerState:
    r"""A run between two iterations.

    Parameters
    ----------
    arrays
        The global model, $\theta_{r,t}$.
    round, iteration
        The next iteration to run, $r$ and $t$.
    step
        Aggregations so far, over all rounds: what the strategy takes for its round.
    cohort
        Who trains next; ``None`` before the round's first draw, empty when all have trained.
    participants
        The round's first cohort.
    costs, curve, accuracy_participating
        As in the simulator.
    history
        Metrics as Flower returns them.
    """

    arrays: ArrayRecord
    round: int = 0
    iteration: int = 0
    step: int = 0
    cohort: Cohort | None = None
    participants: tuple[str, ...] = ()
    costs: Costs = field(default_factory=Costs)
    curve: list[Point] = field(default_factory=list)
    accuracy_participating: float = 0.0
    history: History = field(default_factory=History)

    def model(self) -> dict[str, NDArray[np.generic]]:
        """Return the global model as numpy."""
        return {key: array.numpy() for key, array in self.arrays.items()}

    def open_round(self, cohort: Cohort) -> None:
        """Begin the conversation of a round."""
        self.iteration, self.cohort, self.participants = 0, cohort, cohort.clients

    def close_iteration(self, cohort: Cohort) -> None:
        """Go on to the next cohort of the round."""
        self.iteration, self.cohort = self.iteration + 1, cohort

    def close_round(self) -> None:
        """Go on to the next round."""
        self.round, self.iteration, self.cohort = self.round + 1, 0, None

    def to_checkpoint(
        self, selector: Selector, base: BaseState, guard: Guard | None, sizes: Mapping[str, int]
    ) -> Checkpoint:
        """Collect the run's state with the selector's, the strategy's and the guard's."""
        cohort, (base_values, base_arrays) = self.cohort, base.collect()
        state = selector.state()
        values: dict[str, Any] = {  # Any: what JSON can hold
            "round": self.round,
            "iteration": self.iteration,
            "step": self.step,
            "cohort": None if cohort is None else [list(cohort.clients), list(cohort.draws)],
            "participants": list(self.participants),
            "costs": asdict(self.costs),
            "curve": self.curve,
            "accuracy_participating": self.accuracy_participating,
            "history": self.history.to_plain(),
            "sizes": dict(sizes),
            "names": list(self.arrays),
            "selector": {n: v for n, v in state.items() if not isinstance(v, np.ndarray)},
            "strategy": base_values,
            "guard": None if guard is None else guard.state(),
        }
        learnt = {f"selector.{n}": v for n, v in state.items() if isinstance(v, np.ndarray)}
        model = {f"model.{i}": array for i, array in enumerate(self.model().values())}
        kept = {f"strategy.{place}": array for place, array in base_arrays.items()}
        return Checkpoint(values, model | learnt | kept)

    @classmethod
    def from_checkpoint(
        cls, checkpoint: Checkpoint, selector: Selector, base: BaseState, guard: Guard | None
    ) -> FlowerState:
        """Take up what :meth:`to_checkpoint` collected."""
        values, arrays = checkpoint.values, checkpoint.arrays
        selector.restore(values["selector"] | _under("selector.", arrays))
        base.restore(values["strategy"], _under("strategy.", arrays))
        if guard is not None:
            guard.restore(values["guard"])
        model = {name: arrays[f"model.{i}"] for i, name in enumerate(values["names"])}
        cohort = values["cohort"]
        return cls(
            arrays=ArrayRecord({name: Array(array) for name, array in model.items()}),
            round=values["round"],
            iteration=values["iteration"],
            step=values["step"],
            cohort=None if cohort is None else Cohort(tuple(cohort[0]), tuple(cohort[1])),
            participants=tuple(values["participants"]),
            costs=Costs(**values["costs"]),
            curve=[Point(*point) for point in values["curve"]],
            accuracy_participating=values["accuracy_participating"],
            history=History.from_plain(values["history"]),
        )


def _under(prefix: str, arrays: Arrays) -> dict[str, NDArray[np.generic]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
