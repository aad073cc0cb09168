"""Where a run stands: all that a checkpoint must hold, and nothing random."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from terrafl.federation.protocol import Evaluation
from terrafl.records import Cohort, Report, State, Update, Vector
from terrafl.runs.checkpoint import Checkpoint
from terrafl.runs.events import Costs
from terrafl.runs.summary import Labels, Point, Summary

Arrays = Mapping[str, NDArray[np.generic]]

_NUMBERS = ("steps", "step_sum", "draws", "weight", "metrics")  # of an update, kept with its vector


class Stateful(Protocol):
    """A part of a run that learns: selector, algorithm, defence, federation."""

    def state(self) -> State:
        """Return what must survive a restart."""
        ...

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        ...


@dataclass(slots=True)
class KeptUpdates:
    """Updates of a round's earlier iterations, which stay in its average (``anchor``).

    Averaging an iteration's cohort alone pulls the global model to the clients that trained last.
    With kept updates the new update of a client replaces its earlier one, and all others stay.
    """

    _newest: dict[str, Update] = field(default_factory=dict)

    def updated(self, updates: Sequence[Update]) -> list[Update]:
        """Take an iteration's updates; return every client's newest, in client order."""
        for update in updates:
            # A federation reuses the memory of what it returned.
            self._newest[update.client_id] = replace(update, vector=update.vector.copy())
        return [self._newest[client_id] for client_id in sorted(self._newest)]

    def clear(self) -> None:
        """Forget the round."""
        self._newest.clear()

    def state(self) -> dict[str, Any]:  # Any: JSON values and arrays
        """Return what must survive a restart in the middle of a round."""
        updates = list(self._newest.values())
        about = [
            {"client_id": u.client_id, "num_examples": u.report.num_examples}
            | {name: getattr(u, name) for name in _NUMBERS}
            for u in updates
        ]
        return {"about": about} | {f"{i}": update.vector for i, update in enumerate(updates)}

    @classmethod
    def restored(cls, state: Mapping[str, Any], round: int) -> Self:
        """Take up what :meth:`state` returned; of a report only its size is known again."""
        newest = {}
        for i, about in enumerate(state["about"]):
            vector: NDArray[np.float32] = state[str(i)]
            client, size = str(about["client_id"]), int(about["num_examples"])
            report = Report(client_id=client, round=round, iteration=0, num_examples=size)
            numbers = {name: about[name] for name in _NUMBERS}
            newest[client] = Update(report=report, vector=vector, **numbers)
        return cls(newest)


@dataclass(slots=True, eq=False)
class RunState:
    r"""A run between two iterations.

    Parameters
    ----------
    model
        The global model, $\theta_{r,t}$.
    round, iteration
        The next iteration to run, $r$ and $t$.
    step
        Aggregations so far, over all rounds.
    cohort
        Who trains in it; ``None`` before the round's first draw, empty when all have trained.
    participants
        The round's first cohort.
    empty_choices
        Times in a row that the selector drew or kept nobody.
    kept
        Updates of the round's earlier iterations, where the selector keeps them.
    costs
        Spent so far.
    curve, points
        Evaluations so far, in short and with all costs.
    accuracy_participating
        Of the newest evaluation.
    """

    model: Vector
    round: int = 0
    iteration: int = 0
    step: int = 0
    cohort: Cohort | None = None
    participants: tuple[str, ...] = ()
    empty_choices: int = 0
    kept: KeptUpdates = field(default_factory=KeptUpdates)
    costs: Costs = field(default_factory=Costs)
    curve: list[Point] = field(default_factory=list)
    points: list[dict[str, float]] = field(default_factory=list)
    accuracy_participating: float = 0.0

    def open_round(self, cohort: Cohort) -> None:
        """Begin a round with its first cohort."""
        self.iteration, self.cohort, self.participants = 0, cohort, cohort.clients

    def close_iteration(self, cohort: Cohort) -> None:
        """Continue with the next cohort of the round."""
        self.iteration, self.cohort = self.iteration + 1, cohort

    def close_round(self) -> None:
        """Continue with the next round."""
        self.round, self.iteration, self.cohort = self.round + 1, 0, None
        self.kept.clear()

    def evaluated(self, evaluations: Mapping[str, Evaluation]) -> None:
        """Add the evaluation of every read-out to the curve, the one to report first."""
        costs, reported = self.costs, next(iter(evaluations.values()))
        point = Point(self.round + 1, costs.client_updates, costs.samples_trained, reported.score)
        self.curve.append(point)
        scores = {"score": reported.score} | {
            f"score_{name}": evaluation.score
            for name, evaluation in evaluations.items()
            if len(evaluations) > 1
        }
        self.points.append(
            {
                "round": point.round,
                "step": self.step,
                "client_updates": point.client_updates,
                "samples": point.samples,
                "bytes": costs.bytes_down + costs.bytes_up,
                **scores,
            }
        )
        self.accuracy_participating = reported.score_participating

    def evaluations_without_improvement(self) -> int:
        """Count the evaluations since the best one."""
        if not self.curve:
            return 0
        accuracies = [point.accuracy for point in self.curve]
        return len(accuracies) - 1 - accuracies.index(max(accuracies))

    def summary(
        self,
        labels: Labels,
        *,
        num_rounds: int,
        versions: Mapping[str, str],
        metric: str = "accuracy",
    ) -> Summary:
        """Return what came out of a finished run; it must have been evaluated.

        Parameters
        ----------
        labels
            What the run is called.
        num_rounds
            Rounds planned.
        versions
            Of what the result depends on.
        metric
            The name of the score.
        """
        accuracies = [point.accuracy for point in self.curve]
        newest = accuracies[-10:]
        return Summary(
            **asdict(labels),
            rounds=self.round,
            stopped="rounds" if self.round >= num_rounds else "patience",
            **asdict(self.costs),
            accuracy=accuracies[-1],
            accuracy_participating=self.accuracy_participating,
            best=max(accuracies),
            mean_last_ten=sum(newest) / len(newest),
            curve=tuple(self.curve),
            points=tuple(self.points),
            versions=dict(versions),
            metric=metric,
        )

    def to_checkpoint(
        self, parts: Mapping[str, Stateful], about: Mapping[str, object]
    ) -> Checkpoint:
        """Collect the run's state with that of its parts.

        Parameters
        ----------
        parts
            Whose state belongs to it, by name.
        about
            What else is to be known of the checkpoint.
        """
        cohort = self.cohort
        values: dict[str, Any] = {  # Any: what JSON can hold
            "round": self.round,
            "iteration": self.iteration,
            "step": self.step,
            "cohort": None if cohort is None else _to_plain(cohort),
            "participants": list(self.participants),
            "empty_choices": self.empty_choices,
            "costs": asdict(self.costs),
            "curve": self.curve,
            "points": self.points,
            "accuracy_participating": self.accuracy_participating,
            **about,
        }
        arrays: dict[str, NDArray[np.generic]] = {"model": self.model}
        states = {name: part.state() for name, part in parts.items()} | {"kept": self.kept.state()}
        for name, state in states.items():
            values[name] = {k: v for k, v in state.items() if not isinstance(v, np.ndarray)}
            arrays |= {f"{name}.{k}": v for k, v in state.items() if isinstance(v, np.ndarray)}
        return Checkpoint(values, arrays)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, parts: Mapping[str, Stateful]) -> Self:
        """Take up what :meth:`to_checkpoint` collected."""
        values, arrays = checkpoint.values, checkpoint.arrays
        for name, part in parts.items():
            part.restore(values.get(name, {}) | _under(f"{name}.", arrays))
        cohort = values["cohort"]
        return cls(
            model=arrays["model"],  # type: ignore[arg-type]  # as stored
            round=values["round"],
            iteration=values["iteration"],
            step=values["step"],
            cohort=None if cohort is None else _from_plain(*cohort),
            participants=tuple(values["participants"]),
            empty_choices=values["empty_choices"],
            kept=KeptUpdates.restored(values["kept"] | _under("kept.", arrays), values["round"]),
            costs=Costs(**values["costs"]),
            curve=[Point(*point) for point in values["curve"]],
            points=values.get("points", []),  # an older version's checkpoint has none
            accuracy_participating=values["accuracy_participating"],
        )


def _to_plain(cohort: Cohort) -> list[list[Any]]:  # Any: what JSON can hold
    weights = [list(cohort.weights)] if cohort.weights else []
    return [list(cohort.clients), list(cohort.draws), *weights]


def _from_plain(
    clients: Sequence[str], draws: Sequence[int], weights: Sequence[float] = ()
) -> Cohort:
    return Cohort(tuple(clients), tuple(draws), weights=tuple(weights))


def _under(prefix: str, arrays: Arrays) -> dict[str, NDArray[np.generic]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
