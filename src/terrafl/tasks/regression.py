"""Regression: mean squared error and R²."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

    from terrafl.data import Dataset


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
