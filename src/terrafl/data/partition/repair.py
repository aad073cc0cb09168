"""Bring every client to a minimum size by moving as few examples as possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["repair", "shortage"]


def shortage(counts: NDArray[np.int64], least: int) -> int:
    """Return how many examples all clients (rows) together lack to reach the minimum size."""
    return int(np.maximum(least - counts.sum(axis=1), 0).sum())


def repair(
    counts: NDArray[np.int64], least: int, preference: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Give the clients below the minimum size examples of clients above it.

    A pile is the examples of one class that one client holds. A client can give what it holds
    beyond the minimum size. Clients below it are served in order. Each takes what it lacks from
    the pile with the largest product of spare examples and its preference for the class (from any
    pile if no preferred class is left), then from the next one. Ties go to the first client, then
    to the first class.

    Parameters
    ----------
    counts
        Examples of each class (column) that each client (row) holds.
    least
        The minimum size; all clients together hold enough examples to reach it.
    preference
        The weight of each class (column) for each client (row).

    Returns
    -------
    repaired, moved
        The new numbers, and how many examples were moved: exactly the shortage.

    Examples
    --------
    >>> repaired, moved = repair(np.array([[9, 1], [0, 0]]), 3, np.ones((2, 2), dtype=np.int64))
    >>> repaired.tolist(), moved
    ([[6, 1], [3, 0]], 3)
    """
    counts = counts.copy()
    sizes = counts.sum(axis=1)
    needy = np.flatnonzero(sizes < least)
    moved = 0
    for client in needy:
        while (lacking := least - int(sizes[client])) > 0:
            spare = np.minimum(counts, np.maximum(sizes - least, 0)[:, np.newaxis])
            wish = spare * preference[client]
            donor, label = np.unravel_index((wish if wish.any() else spare).argmax(), spare.shape)
            number = min(lacking, int(spare[donor, label]))
            counts[donor, label] -= number
            counts[client, label] += number
            sizes[donor] -= number
            sizes[client] += number
            moved += number
    return counts, moved
