"""Adjust the label distributions of clients so that they add up to the existing labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["tilt"]

_PASSES = 100
_TOLERANCE = 1e-6


def tilt(
    laws: NDArray[np.float64], sizes: NDArray[np.int64], stock: NDArray[np.int64]
) -> NDArray[np.float64]:
    r"""Weight classes, equally for all clients, so that demand equals supply.

    The distributions become $p'_k(c) = w_c\, p_k(c) / \sum_{c'} w_{c'}\, p_k(c')$ with the weights
    for which $\sum_k n_k\, p'_k(c) = s_c$. They are found by scaling each $w_c$ by supply over
    demand repeatedly (iterative proportional fitting).

    Parameters
    ----------
    laws
        Logarithms of $p_k(c)$, up to a constant per client (row).
    sizes
        Examples that each client gets, $n_k$.
    stock
        Examples that there are of each class, $s_c \ge 1$; as many as the sizes in all.

    Returns
    -------
    laws
        Logarithms of $p'_k(c)$, up to a constant per client.

    Notes
    -----
    If distributions put nearly all weight on one class, there may be no solution. After a hundred
    passes the demand stays as close to the supply as it has come.
    """
    supply, log_sizes = np.log(stock), np.log(sizes)[:, np.newaxis]
    for _ in range(_PASSES):
        laws = laws - _log_sum(laws, axis=1)  # each client's shares add up to 1
        demand = _log_sum(laws + log_sizes, axis=0)
        if np.abs(supply - demand).max() < _TOLERANCE:
            break
        laws = laws + (supply - demand)
    return laws


def _log_sum(logs: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the logarithm of a sum of exponentials, without underflow."""
    most = logs.max(axis=axis, keepdims=True)
    total: NDArray[np.float64] = most + np.log(np.exp(logs - most).sum(axis=axis, keepdims=True))
    return total
