"""How well the final model serves each client."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from terrafl.data.partition.ragged import Ragged

__all__ = ["MOST_LISTED", "by_client"]

MOST_LISTED = 10_000
"""Clients are listed one by one in the journal up to this many: its cost follows the cohort."""


def by_client(correct: NDArray[np.bool_], test: Ragged) -> dict[str, list[int]]:
    """Count each client's test examples, and those the model labels rightly.

    Parameters
    ----------
    correct
        For every test example, whether the model is right.
    test
        The test examples of every client.

    Returns
    -------
    dict
        ``tested`` and ``correct``, one number per client in the order of client ids; empty
        beyond :data:`MOST_LISTED` clients.

    Examples
    --------
    >>> by_client(np.array([True, False, True]), Ragged.of([[0, 1], [], [2]]))
    {'tested': [2, 0, 1], 'correct': [1, 0, 1]}
    """
    if len(test) > MOST_LISTED:
        return {"tested": [], "correct": []}
    running = np.concatenate([[0], np.cumsum(correct[test.indices], dtype=np.int64)])
    rightly = running[test.offsets[1:]] - running[test.offsets[:-1]]
    return {"tested": test.sizes().tolist(), "correct": rightly.tolist()}
