"""Bring every client up to a least size by moving as few examples as that takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["repair", "shortage"]


def shortage(counts: NDArray[np.int64], least: int) -> int:
    """Return how many examples clients (rows) lack in all, each to hold the least size."""
    return int(np.maximum(least - counts.sum(axis=1), 0).sum())


def repair(
    counts: NDArray[np.int64], least: int, preference: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Fill up the clients that hold too little from the largest piles of those who can spare.

    A pile is what one client holds of one class; its owner spares what it holds beyond the
    least size. Clients in need are served in order. Each takes what it lacks from the pile
    with the most to spare times its preference for the class (from any pile when no pile of a
    preferred class is left), and from the next such pile if that does not suffice; ties go
    to the first client, then to the first class.

    Parameters
    ----------
    counts
        Examples of each class (column) that each client (row) holds.
    least
        The least size; the clients together hold enough to reach it.
    preference
        How much each client (row) would like each class (column).

    Returns
    -------
    repaired, moved
        The new numbers, and how many examples changed hands: exactly the shortage.

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
