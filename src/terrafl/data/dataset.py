"""A data set in memory: stored examples, and their conversion to network input."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Inputs and targets, row by row.

    Parameters
    ----------
    x
        Inputs of shape (n, channels, ...), in their stored type. uint8 and float32 reach the
        network normalised, as float32. int64 (token ids, for an embedding) reach it as they are.
    y
        Targets: class labels 0 .. C-1 as int64, or numbers as float32.
    group
        The natural owner of each example (writer, subject), if the data set has owners.
    """

    x: NDArray[np.uint8] | NDArray[np.float32] | NDArray[np.int64]
    y: NDArray[np.int64] | NDArray[np.float32]
    group: NDArray[np.str_] | None = None

    def __post_init__(self) -> None:
        owners = 0 if self.group is None else len(self.group)
        if len(self.x) != len(self.y) or (self.group is not None and owners != len(self.y)):
            raise DataError(
                f"every input needs one target and at most one owner; got {len(self.x)} inputs, "
                f"{len(self.y)} targets and {owners} owners."
            )

    def __len__(self) -> int:
        return len(self.y)

    def divide(self, held: NDArray[np.bool_]) -> "tuple[Examples, Examples]":
        """Return the examples that are not held out, and those that are."""
        group = self.group
        kept, held_out = (
            Examples(self.x[rows], self.y[rows], None if group is None else group[rows])
            for rows in (~held, held)
        )
        return kept, held_out


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


class ClassLabels(NamedTuple):
    """The labels of a data set's training and test examples, 0 .. ``num_classes`` - 1."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]
    num_classes: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A data set with its training and test examples.

    Parameters
    ----------
    name
        What results call it.
    train, test
        The examples.
    num_classes
        Number of classes; ``None`` where the targets are numbers.
    normalisation
        Turns stored inputs into network input; not used for int64 inputs.
    """

    name: str
    train: Examples
    test: Examples
    num_classes: int | None
    normalisation: Normalisation

    def __post_init__(self) -> None:
        if self.num_classes is None:
            return
        for labels in (self.train.y, self.test.y):
            low, high = int(labels.min(initial=0)), int(labels.max(initial=0))
            if low < 0 or high >= self.num_classes:
                raise DataError(
                    f"labels of {self.name} must lie in 0 .. {self.num_classes - 1}; "
                    f"got {low} .. {high}."
                )

    def labels(self, user: str) -> ClassLabels:
        """Return the class labels; raise if the targets are numbers.

        Parameters
        ----------
        user
            Who needs the labels, for the error message.
        """
        if self.num_classes is None:
            raise DataError(
                f"{user} needs class labels; the targets of {self.name} are numbers: "
                "choose another one."
            )
        train, test = (np.asarray(part.y, dtype=np.int64) for part in (self.train, self.test))
        return ClassLabels(train, test, self.num_classes)

    @property
    def has_raw_inputs(self) -> bool:
        """Whether inputs are integers that reach the network as they are."""
        return self.train.x.dtype == np.int64

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input, (channels, ...)."""
        return tuple(self.train.x.shape[1:])
