"""Arithmetic for partitioners: Dirichlet shares, and whole numbers of examples from fractions."""

import math

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require

_PASSES = 100
_TOLERANCE = 1e-6


def require_alphas(name: str, alphas: tuple[float, ...], clients: int) -> None:
    """Raise unless these are valid concentrations of one or more groups of clients."""
    must = "one number or more, at most one per client"
    require(1 <= len(alphas) <= clients, name, alphas, must)
    # Below this the logarithms of shares would leave the range of floats.
    valid = all(math.isfinite(alpha) and alpha >= 1e-12 for alpha in alphas)
    require(valid, name, alphas, "at least 1e-12 and finite")


def even(total: int, parts: int) -> NDArray[np.int64]:
    """Divide a number into whole parts as evenly as possible; the first parts are larger by one.

    Examples
    --------
    >>> even(52, 5).tolist()
    [11, 11, 10, 10, 10]
    """
    base, extra = divmod(total, parts)
    return base + (np.arange(parts, dtype=np.int64) < extra)


def apportion(
    total: int, shares: NDArray[np.float64] | NDArray[np.int64], offset: float = 0.0
) -> NDArray[np.int64]:
    r"""Cut a total at the cumulative shares, rounded down.

    Part $i$ gets $\lfloor F_i n + u \rfloor - \lfloor F_{i-1} n + u \rfloor$ of the total $n$,
    where $F_i = \sum_{j \le i} s_j / \sum_j s_j$ and $u$ is the offset.

    Parameters
    ----------
    total
        The number to divide, $n$.
    shares
        Weights $s_i \ge 0$, not all of them 0; a part of weight 0 gets nothing.
    offset
        $u \in [0, 1)$. With 0, rounding favours later parts; drawn uniformly, the expected
        size of each part is exactly $s_i n / \sum_j s_j$.

    Examples
    --------
    >>> apportion(7, np.array([1, 0, 1])).tolist()
    [3, 0, 4]
    """
    cumulative = np.cumsum(shares)
    cuts: NDArray[np.int64] = np.floor(cumulative * total / cumulative[-1] + offset).astype(
        np.int64
    )
    cuts[cumulative == cumulative[-1]] = total  # whatever the rounding of the line above
    cuts[1:] -= cuts[:-1].copy()
    return cuts


def log_dirichlet(
    generator: np.random.Generator, alpha: float | NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    r"""Draw the logarithms of Dirichlet shares, up to a constant along the last axis.

    The shares are $p_i = G_i / \sum_j G_j$ with $G_i \sim \mathrm{Gamma}(\alpha)$ and
    $\log G_i = \log G'_i - E_i / \alpha$, $G'_i \sim \mathrm{Gamma}(\alpha + 1)$,
    $E_i \sim \mathrm{Exp}(1)$.

    Notes
    -----
    At $\alpha = 0.001$ most $G_i$ are smaller than the smallest float. Their logarithms stay
    distinct, so shares can be renormalised over any subset, and the result is again a symmetric
    Dirichlet draw over that subset, as with exact numbers.
    """
    gamma = generator.standard_gamma(np.add(alpha, 1.0), size=shape)
    return np.log(gamma) - generator.standard_exponential(shape) / alpha


def open_shares(log_shares: NDArray[np.float64], is_open: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Renormalise shares over the open parts, one or more; the others get exactly 0."""
    logs = np.where(is_open, log_shares, -np.inf)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def follow(
    generator: np.random.Generator,
    owners: NDArray[np.int64],
    labels: NDArray[np.int64],
    test_labels: NDArray[np.int64],
    clients: int,
) -> NDArray[np.int64]:
    """Divide test examples so that each class is shared among clients as in training.

    A class without training examples is divided evenly.

    Parameters
    ----------
    generator
        Draws the rounding of each class.
    owners, labels
        The client and the label of each training example.
    test_labels
        The label of each test example.
    clients
        The number of clients.

    Returns
    -------
    owners
        The client of each test example.
    """
    test_owners = np.empty(len(test_labels), dtype=np.int64)
    for label in np.unique(test_labels):
        rows = np.flatnonzero(test_labels == label)
        shares = np.bincount(owners[labels == label], minlength=clients)
        weights = shares if shares.any() else np.ones(clients, dtype=np.int64)
        counts = apportion(len(rows), weights, offset=generator.random())
        test_owners[rows] = np.repeat(np.arange(clients), counts)
    return test_owners


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
