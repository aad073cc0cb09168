"""Where a run stands: all that a checkpoint must hold, and nothing random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import Algorithm
from terrafl.engine.kept import KeptModels
from terrafl.guard import Guard
from terrafl.runs.checkpoint import Checkpoint
from terrafl.runs.summary import Point
from terrafl.selection import Cohort, Selector

__all__ = ["Costs", "RunState"]


@dataclass(slots=True)
class Costs:
    """What a run has spent; see :class:`terrafl.runs.Summary`."""

    client_updates: int = 0
    samples_trained: int = 0
    loss_queries: int = 0
    samples_queried: int = 0
    bytes_down: int = 0
    bytes_up: int = 0
    reports_refused: int = 0


@dataclass(slots=True, eq=False)
class RunState:
    r"""A run between two iterations.

    Parameters
    ----------
    model
        The global model, $\theta_{r,t}$.
    round, iteration
        The next iteration to run, $r$ and $t$.
    cohort
        Who trains in it; ``None`` before the round's first draw.
    participants
        The round's first cohort.
    kept
        Models of the round's earlier iterations, where the selector keeps them.
    costs
        Spent so far.
    curve
        Evaluations so far.
    accuracy_participating
        Of the newest evaluation.
    """

    model: NDArray[np.float32]
    round: int = 0
    iteration: int = 0
    cohort: Cohort | None = None
    participants: tuple[str, ...] = ()
    kept: KeptModels = field(default_factory=KeptModels)
    costs: Costs = field(default_factory=Costs)
    curve: list[Point] = field(default_factory=list)
    accuracy_participating: float = 0.0

    def open_round(self, cohort: Cohort) -> None:
        """Begin the conversation of a round."""
        self.iteration, self.cohort, self.participants = 0, cohort, cohort.clients

    def close_iteration(self, cohort: Cohort) -> None:
        """Go on to the next cohort of the round."""
        self.iteration, self.cohort = self.iteration + 1, cohort

    def close_round(self) -> None:
        """Go on to the next round."""
        self.round, self.iteration, self.cohort = self.round + 1, 0, None
        self.kept.clear()

    def evaluations_without_improvement(self) -> int:
        """Count the evaluations since the best one."""
        if not self.curve:
            return 0
        accuracies = [point.accuracy for point in self.curve]
        return len(accuracies) - 1 - accuracies.index(max(accuracies))

    def to_checkpoint(
        self,
        selector: Selector,
        algorithm: Algorithm,
        about: Mapping[str, object],
        guard: Guard | None = None,
    ) -> Checkpoint:
        """Collect the run's state with the selector's, the algorithm's and the guard's.

        Parameters
        ----------
        selector, algorithm, guard
            Whose state belongs to it.
        about
            What else is to be known of the checkpoint.
        """
        cohort = self.cohort
        values: dict[str, Any] = {  # Any: what JSON can hold
            "round": self.round,
            "iteration": self.iteration,
            "cohort": None if cohort is None else [list(cohort.clients), list(cohort.draws)],
            "participants": list(self.participants),
            "costs": asdict(self.costs),
            "curve": self.curve,
            "accuracy_participating": self.accuracy_participating,
            "selector": {},
            "guard": None if guard is None else guard.state(),
            **about,
        }
        arrays: dict[str, NDArray[np.generic]] = {"model": self.model}
        values["kept"], arrays["kept"] = self.kept.state()
        for name, value in selector.state().items():
            if isinstance(value, np.ndarray):
                arrays[f"selector.{name}"] = value
            else:
                values["selector"][name] = value
        arrays |= {f"algorithm.{name}": value for name, value in algorithm.state().items()}
        return Checkpoint(values, arrays)

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        selector: Selector,
        algorithm: Algorithm,
        guard: Guard | None = None,
    ) -> RunState:
        """Take up what :meth:`to_checkpoint` collected."""
        values, arrays = checkpoint.values, checkpoint.arrays
        selector.restore(values["selector"] | _under("selector.", arrays))
        algorithm.restore(_under("algorithm.", arrays))
        if guard is not None:
            guard.restore(values["guard"])
        cohort = values["cohort"]
        return cls(
            model=arrays["model"].astype(np.float32, copy=False),
            round=values["round"],
            iteration=values["iteration"],
            cohort=None if cohort is None else Cohort(tuple(cohort[0]), tuple(cohort[1])),
            participants=tuple(values["participants"]),
            kept=KeptModels.restored(values["kept"], arrays["kept"].astype(np.float32, copy=False)),
            costs=Costs(**values["costs"]),
            curve=[Point(*point) for point in values["curve"]],
            accuracy_participating=values["accuracy_participating"],
        )


def _under(
    prefix: str, arrays: Mapping[str, NDArray[np.generic]]
) -> dict[str, NDArray[np.generic]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
