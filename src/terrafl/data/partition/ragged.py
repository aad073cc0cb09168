"""Rows of different lengths, kept in two arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require


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
    def of(cls, rows: Sequence[Sequence[int] | NDArray[np.integer]]) -> Ragged:
        """Join rows."""
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        empty = np.empty(0, dtype=np.int64)
        return cls(np.concatenate([empty, *rows], dtype=np.int64, casting="unsafe"), offsets)

    @classmethod
    def by_owner(cls, owners: NDArray[np.int64], count: int) -> Ragged:
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
