"""Classification: cross-entropy and accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

    from terrafl.data import Dataset


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
