"""The partition of a data set among clients, and the partitioner interface."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset
from terrafl.errors import DataError, require


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """The examples of every client, in two arrays for any number of clients.

    Parameters
    ----------
    indices
        The rows, one after the other.
    offsets
        The start of each row, and the end of the last: row $i$ is
        ``indices[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> ragged = Ragged.of([[4, 1], [], [2]])
    >>> len(ragged), ragged.sizes().tolist(), ragged[0].tolist()
    (3, [2, 0, 1], [4, 1])
    """

    indices: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        ends = self.offsets[[0, -1]].tolist() if self.offsets.size else []
        must = "two numbers or more that rise from 0 to the number of indices"
        require(ends == [0, len(self.indices)], "offsets", ends, must)
        require(bool((np.diff(self.offsets) >= 0).all()), "offsets", "a falling step", must)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int] | NDArray[np.integer]]) -> Self:
        """Join rows."""
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        empty = np.empty(0, dtype=np.int64)
        return cls(np.concatenate([empty, *rows], dtype=np.int64, casting="unsafe"), offsets)

    @classmethod
    def by_owner(cls, owners: NDArray[np.int64], count: int) -> Self:
        """Collect the examples of each of ``count`` owners, in rising order.

        Parameters
        ----------
        owners
            The owner of each example, 0 .. count-1, or -1 for none.
        count
            The number of owners; some may hold nothing.

        Examples
        --------
        >>> held = Ragged.by_owner(np.array([1, -1, 0, 1]), count=2)
        >>> [row.tolist() for row in held]
        [[2], [0, 3]]
        """
        sizes = np.bincount(owners[owners >= 0], minlength=count)
        offsets = np.concatenate([[0], np.cumsum(sizes)], dtype=np.int64)
        in_order = np.argsort(owners, kind="stable")  # examples without an owner come first
        return cls(in_order[len(owners) - offsets[-1] :].astype(np.int64, copy=False), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> NDArray[np.int64]:
        row = range(len(self))[row]  # negative rows count from the end; others raise IndexError
        return self.indices[self.offsets[row] : self.offsets[row + 1]]

    def sizes(self) -> NDArray[np.int64]:
        """Return the length of every row."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """The training and test examples of every client.

    Parameters
    ----------
    client_ids
        Distinct client ids in string order.
    train, test
        Rows of the data set's training and test examples, one list per client in the order of
        ``client_ids``. Every client has training examples; it may have no test examples.
    redraws
        Number of random draws that were discarded because they broke the scheme's rules.
    repaired
        Number of examples that were moved because redrawing did not help.
    """

    client_ids: NDArray[np.str_]
    train: Ragged
    test: Ragged
    redraws: int = 0
    repaired: int = 0

    def __post_init__(self) -> None:
        lengths = (len(self.client_ids), len(self.train), len(self.test))
        require(len(set(lengths)) == 1, "partition", lengths, "one id, train and test per client")
        ordered = bool((self.client_ids[:-1] < self.client_ids[1:]).all())
        shown = self.client_ids[:3].tolist()
        require(ordered, "client ids", shown, "distinct and in string order")
        smallest = int(self.train.sizes().min(initial=1))
        require(smallest > 0, "partition", smallest, "1 training example or more for each client")

    @classmethod
    def of_owners(
        cls, train: NDArray[np.int64], test: NDArray[np.int64], client_ids: NDArray[np.str_]
    ) -> Self:
        """Make a partition from the position of the client that owns each example; -1 for none."""
        train_rows, test_rows = (
            Ragged.by_owner(owners, len(client_ids)) for owners in (train, test)
        )
        return cls(client_ids=client_ids, train=train_rows, test=test_rows)

    def __len__(self) -> int:
        return len(self.client_ids)


@runtime_checkable
class Partitioner(Protocol):
    """A way to divide a data set among clients.

    A partitioner is a frozen dataclass whose constructor arguments are its settings. The result
    depends only on them, the data set and the generator.
    """

    name: ClassVar[str]
    """The name used in configuration files and on the command line."""

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set."""
        ...


def numbered(count: int) -> NDArray[np.str_]:
    """Return ids whose string order is their numeric order.

    Examples
    --------
    >>> numbered(11)[[0, 9, 10]].tolist()
    ['00', '09', '10']
    """
    width = len(str(count - 1))
    return np.strings.zfill(np.arange(count).astype(np.str_), width).astype(f"<U{width}")


def require_enough(dataset: Dataset, needed: int, what: str) -> None:
    """Raise unless the data set has as many training examples as are needed."""
    if len(dataset.train) < needed:
        raise DataError(
            f"{what} must be at most the number of training examples; got {needed} and "
            f"{len(dataset.train)} examples in {dataset.name}. Lower the number of clients."
        )
