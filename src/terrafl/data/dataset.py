"""A data set in memory: stored examples, and their conversion to network input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import DataError

__all__ = ["Dataset", "Examples", "Normalisation"]


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Inputs and labels, row by row.

    Parameters
    ----------
    x
        Inputs of shape (n, channels, ...), in their stored type (uint8 or float32).
    y
        Labels 0 .. C-1.
    group
        The natural owner of each example (writer, subject), if the data set has owners.
    """

    x: NDArray[np.uint8] | NDArray[np.float32]
    y: NDArray[np.int64]
    group: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (
            self.group is not None and len(self.group) != len(self.y)
        ):
            raise DataError(
                f"every input needs one label and at most one owner; got {len(self.x)} inputs, "
                f"{len(self.y)} labels and {0 if self.group is None else len(self.group)} owners."
            )

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True)
class Normalisation:
    r"""Turn stored values into network input, $(x / divisor - mean_c) / sd_c$ per channel $c$."""

    divisor: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    sd: tuple[float, ...] = (1.0,)

    def affine(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return (scale, offset) per channel, so that input = stored * scale + offset."""
        sd = np.array(self.sd)
        scale = 1.0 / (self.divisor * sd)
        return scale.astype(np.float32), (-np.array(self.mean) / sd).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A classification data set with its training and test examples."""

    name: str
    train: Examples
    test: Examples
    num_classes: int
    normalisation: Normalisation

    def __post_init__(self) -> None:
        for labels in (self.train.y, self.test.y):
            low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
            if low < 0 or high >= self.num_classes:
                raise DataError(
                    f"labels of {self.name} must lie in 0 .. {self.num_classes - 1}; "
                    f"got {low} .. {high}."
                )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input, (channels, ...)."""
        return tuple(self.train.x.shape[1:])
