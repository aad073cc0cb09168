r"""Find the split with the least intra-split variance, exactly.

Two steps. :func:`candidate_splits` computes all variances from prefix sums in float64, with a
bound on their rounding error, and keeps the positions that may have the least variance.
:func:`least_variance` compares these in integers.

Both use the moments of a cluster, $S = \sum n_i$, $A = \sum n_i u_i$ and $B = \sum n_i u_i^2$:
its spread is $\sum n_i (u_i - \bar u)^2 = B - A^2 / S$ and its variance is the spread over $S$.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import lshift, mul
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.records import Floats

Weighting = Literal["count", "mass"]
Integers = NDArray[np.int64]

_CHUNK = 4096  # clients converted to Python integers at a time, to limit memory


def candidate_splits(
    norms: Floats, sizes: Integers, first: int, end: int, weighting: Weighting
) -> list[int]:
    r"""Return the positions in ``[first, end)`` whose variance may be the least.

    Parameters
    ----------
    norms, sizes
        The clients, in ascending order of norm; not all norms are equal.
    first, end
        The search range, ``1 <= first < end <= N``.
    weighting
        The weights of the clusters, see :func:`terrafl.selection.splitting.split`.

    Notes
    -----
    Norms are replaced by $d_i$, their scaled distance from a norm in the range. This multiplies
    all variances by the same number and loses fewer digits to cancellation. The scale is a power
    of two: it causes no rounding, and no square overflows.

    The error of a prefix sum of $N$ terms is at most $(N + 6) \epsilon$ times the sum of their
    absolute values. That sum is at most $B_N$ for $B$, and at most $\sqrt{S_N B_N}$ for $A$
    (Cauchy-Schwarz); masses are exact. The moments of the hard cluster are differences of two
    sums; $\delta = 4 (N + 16) \epsilon$ is twice the factor that they need. With $S$ the least
    mass of the cluster in the range, the error of its spread is at most

    .. math::
        \delta B_N + (2 \sqrt{S B_N} + \delta_A) \delta_A / S, \quad
        \delta_A = \delta \sqrt{S_N B_N}

    since $|A| \le \sqrt{S B_N}$, and this bound of $|A| / S$ is largest at the least $S$. The
    term 1e-280 covers underflow: the largest scaled norm is about 1.
    """
    scale = math.ldexp(1.0, min(-math.frexp(norms[-1])[1], 1023))
    distances = (norms - norms[(first + end) // 2]) * scale
    terms = sizes * distances
    mass, sums, squares = np.cumsum(sizes), np.cumsum(terms), np.cumsum(terms * distances)
    in_range = slice(first - 1, end - 1)
    easy_mass, hard_mass = mass[in_range], mass[-1] - mass[in_range]
    easy = squares[in_range] - sums[in_range] ** 2 / easy_mass
    hard = squares[-1] - squares[in_range] - (sums[-1] - sums[in_range]) ** 2 / hard_mass

    delta = 4 * (len(norms) + 16) * float(np.finfo(np.float64).eps)
    second = float(squares[-1])  # B_N
    delta_first = delta * math.sqrt(float(mass[-1]) * second)  # delta_A

    def error(least_mass: float) -> float:
        largest = 2 * math.sqrt(least_mass * second) + delta_first
        return delta * second + largest * delta_first / least_mass + 1e-280

    bound = 0.0
    variances = np.zeros(end - first)  # times N, or times S_N
    positions = np.arange(first, end)
    for spread, clients, masses in (
        (easy, positions, easy_mass),
        (hard, len(norms) - positions, hard_mass),
    ):
        weights = clients / masses if weighting == "count" else np.ones(1)
        variances += weights * spread
        bound += float(weights.max()) * error(float(masses.min()))
    candidates: list[int] = positions[variances <= variances.min() + 2 * bound].tolist()
    return candidates


def least_variance(
    norms: Floats, sizes: Integers, candidates: Sequence[int], weighting: Weighting
) -> int:
    """Return the first candidate with the least intra-split variance, computed in integers.

    Parameters
    ----------
    norms, sizes
        The clients, in ascending order of norm; not all norms are zero.
    candidates
        Positions, ascending.
    weighting
        The weights of the clusters.

    Examples
    --------
    >>> norms, sizes = np.array([1.0, 1.0, 2.0, 4.0]), np.array([1, 1, 1, 1])
    >>> least_variance(norms, sizes, [1, 2, 3], "count")
    3
    """
    *easy, (total, total_first, total_second) = _exact_moments(norms, sizes, candidates)
    best, best_numerator, best_denominator = 0, 1, 0  # infinity
    for tau, (s1, a1, b1) in zip(candidates, easy, strict=True):
        s2, a2, b2 = total - s1, total_first - a1, total_second - b1
        w1, w2 = (tau, len(norms) - tau) if weighting == "count" else (s1, s2)
        spread1, spread2 = b1 * s1 - a1 * a1, b2 * s2 - a2 * a2  # S^2 Var(U)
        square1, square2 = s1 * s1, s2 * s2
        numerator = w1 * spread1 * square2 + w2 * spread2 * square1
        denominator = square1 * square2
        if numerator * best_denominator < best_numerator * denominator:
            best, best_numerator, best_denominator = tau, numerator, denominator
    return best


def _exact_moments(
    norms: Floats, sizes: Integers, positions: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield S, A and B of the clients up to each position, then those of all clients.

    A float is an integer times a power of two. The unit of A is the least power of two that
    occurs, so A and B are integers.
    """
    fractions, exponents = np.frexp(norms)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    least = exponents[np.searchsorted(norms, 0.0, side="right")]
    shifts = np.maximum(exponents - least, 0)  # the exponent of a norm of 0 has no meaning
    mass = first = second = 0
    for start, stop in pairwise([0, *positions, len(norms)]):
        for begin in range(start, stop, _CHUNK):
            chunk = slice(begin, min(begin + _CHUNK, stop))
            counts = sizes[chunk].tolist()
            values = list(map(lshift, mantissas[chunk].tolist(), shifts[chunk].tolist()))
            products = list(map(mul, counts, values))
            mass += sum(counts)
            first += sum(products)
            second += sum(map(mul, products, values))
        yield mass, first, second
