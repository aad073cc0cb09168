"""The interface of a task: loss, score, and the size of the network's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require

if TYPE_CHECKING:
    from torch import Tensor

    from terrafl.data import Dataset

LOWEST_SCORE: Final = -1e9
"""Recorded in place of a lower score, and of one that is not a number."""


@runtime_checkable
class Task(Protocol):
    r"""A loss and a score.

    A task is a frozen dataclass whose constructor arguments are its settings. The score is a
    function of sums over examples: the sums of different workers or clients can be added.
    """

    name: ClassVar[str]
    """The name used in configuration files and on the command line."""
    metric: ClassVar[str]
    """The name of the score. A score is at most 1, and a higher one is better: a task whose
    measure is an error returns its negative."""
    statistics_names: ClassVar[tuple[str, ...]]
    """The names of the numbers that are summed for the score. Where one of them is ``correct``,
    the journal counts the correct answers of each client; otherwise it holds their scores."""

    def num_outputs(self, dataset: Dataset) -> int:
        """Return the size of the network's output; refuse a data set of another kind."""
        ...

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each example, (n,); training minimises its mean."""
        ...

    def statistics(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the statistics of each example, (n, S), in the order of their names."""
        ...

    def score(self, sums: NDArray[np.float64], count: int) -> float | None:
        """Return the score of ``count`` examples from their summed statistics.

        ``None`` where the score is not defined for these examples.
        """
        ...


def score_of(task: Task, statistics: NDArray[np.float64]) -> float | None:
    """Return the score of examples with these statistics, (n, S); ``None`` if undefined.

    Raises
    ------
    ConfigurationError
        If the task's score is above 1.
    """
    count = len(statistics)
    score = task.score(statistics.sum(axis=0), count) if count else None
    if score is None:
        return None
    require(not score > 1, f"{task.metric} of task {task.name}", score, "at most 1")
    return float(score) if score >= LOWEST_SCORE else LOWEST_SCORE  # NaN is not larger
