"""What a network learns: its loss, the score that results report, and the size of its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import DataError, require

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


@dataclass(frozen=True, slots=True)
class Classification:
    """One of $C$ classes: cross-entropy of $C$ class scores; accuracy, correct answers / n."""

    name: ClassVar[str] = "classification"
    metric: ClassVar[str] = "accuracy"
    statistics_names: ClassVar[tuple[str, ...]] = ("correct",)

    def num_outputs(self, dataset: Dataset) -> int:
        """Return the number of classes."""
        return dataset.labels(f"task {self.name}").num_classes

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy of each example."""
        from torch.nn import functional

        return functional.cross_entropy(outputs, targets, reduction="none")

    def statistics(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return for each example whether the class of the highest score is the label."""
        return (outputs.argmax(dim=1) == targets).unsqueeze(1)

    def score(self, sums: NDArray[np.float64], count: int) -> float | None:
        """Return the accuracy."""
        return float(sums[0] / count)


@dataclass(frozen=True, slots=True)
class Regression:
    r"""One number per example: squared error of one output, and the coefficient of determination.

    .. math:: R^2 = 1 - \frac{\sum_i (y_i - \hat y_i)^2}{\sum_i y_i^2 - (\sum_i y_i)^2 / n}

    It is 1 for a perfect model, 0 for the mean of the targets, and negative for a worse model. It
    is not defined where all targets are equal.
    """

    name: ClassVar[str] = "regression"
    metric: ClassVar[str] = "r2"
    statistics_names: ClassVar[tuple[str, ...]] = ("squared_error", "target", "squared_target")

    def num_outputs(self, dataset: Dataset) -> int:
        """Return 1."""
        y = dataset.test.y
        if dataset.num_classes is not None:
            raise DataError(
                f"task {self.name} needs targets that are floating-point numbers; those of "
                f"{dataset.name} are class labels: store them as numbers, or use task "
                "classification."
            )
        if not len(y) or y.min() == y.max():
            raise DataError(
                f"task {self.name} needs test targets that differ; those of {dataset.name} are "
                "all equal: hold out other test examples."
            )
        return 1

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the squared error of each example."""
        return (outputs.squeeze(1).float() - targets).square()

    def statistics(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return squared error, target and squared target of each example, in float64."""
        import torch

        y = targets.double()
        return torch.stack([(outputs.squeeze(1).double() - y).square(), y, y.square()], dim=1)

    def score(self, sums: NDArray[np.float64], count: int) -> float | None:
        """Return R²; ``None`` where the targets do not vary."""
        squared_error, total, squares = sums.tolist()
        variation = squares - total * total / count
        return 1 - squared_error / variation if variation > 0 else None


TASKS: dict[str, type[Task]] = {cls.name: cls for cls in (Classification, Regression)}
"""Tasks by name, for configuration files and the command line."""


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
