r"""The split of Algorithm 1: where to cut a sorted list of clients into easy and hard.

Clients are sorted by update norm, $u_1 \le \dots \le u_N$, with sizes $n_i = |D^i_{train}|$ and
running sums $S_k = \sum_{i \le k} n_i$. Positions are counted from 1, as in the paper; the hard
cluster is what stands after position $\tau$.

The answer is exact. Floating-point prefix sums with a proven error bound discard the positions
that cannot win; integer arithmetic, of which floats are a special case, judges the rest.

References
----------
Balivada et al., "Heterogeneity-Aware Client Selection Methodology For Efficient Federated
Learning", equations 4 and 5 and Algorithm 1, lines 9-12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import ConfigurationError

__all__ = ["Q1", "Q3", "Split", "Weighting", "best_split", "range_ends", "split"]

Weighting = Literal["count", "mass"]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Q1 = Fraction(1, 4)
Q3 = Fraction(3, 4)

# Below this many candidates integer arithmetic is faster than any filter.
_FEW = 48


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    r"""A cohort cut in two.

    Parameters
    ----------
    order
        Positions of the clients in the given arrays, easiest first.
    first, end
        Ends of the search range, $k_a$ and $k_b$: $k_{Q1}$ and $k_{Q3}$ by default.
    tau
        Number of easy clients; the rest are hard.
    empty_range
        Whether no position satisfied $k_a \le \tau < k_b$, so that $\tau = \min(k_a, N-1)$.
    """

    order: NDArray[np.intp]
    first: int
    end: int
    tau: int
    empty_range: bool

    @property
    def easy(self) -> NDArray[np.intp]:
        """Positions of the easy clients."""
        return self.order[: self.tau]

    @property
    def hard(self) -> NDArray[np.intp]:
        """Positions of the hard clients."""
        return self.order[self.tau :]


def split(
    norms: Floats,
    sizes: Integers,
    *,
    search_range: tuple[Fraction, Fraction] = (Q1, Q3),
    weighting: Weighting = "count",
) -> Split:
    r"""Cut a cohort of two or more where the intra-split variance is smallest.

    Parameters
    ----------
    norms
        Update norm of each client, finite and not negative. Equal norms keep the order they
        are given in: give clients in the order of their ids.
    sizes
        Number of examples of each client, at least 1.
    search_range
        Fractions $a < b$ of the data between which the cut is sought.
    weighting
        ``count``: clusters weigh by their number of clients, as the paper prints it. ``mass``:
        by their number of examples, which obeys the law of total variance.

    Examples
    --------
    >>> cut = split(np.array([5.0, 0.1, 0.3, 4.0]), np.array([10, 10, 10, 10]))
    >>> cut.order.tolist(), cut.first, cut.end, cut.tau
    ([1, 2, 3, 0], 1, 3, 2)
    """
    order = _sorted_order(norms)
    ordered_norms, ordered_sizes = norms[order], sizes[order]
    first, end = range_ends(ordered_sizes, *search_range)
    empty_range = first >= end
    if empty_range:
        tau = min(first, len(norms) - 1)
    else:
        tau = best_split(ordered_norms, ordered_sizes, first, end, weighting)
    return Split(order, first, end, tau, empty_range)


def _sorted_order(norms: Floats) -> NDArray[np.intp]:
    """Sort ascending; equal norms keep their order.

    numpy's unstable sort is several times faster than its stable one, and ties are rare.
    """
    order = np.argsort(norms)
    ordered = norms[order]
    if (ordered[1:] == ordered[:-1]).any():
        return np.argsort(norms, kind="stable")
    return order


def range_ends(sizes: Integers, a: Fraction, b: Fraction) -> tuple[int, int]:
    r"""Return the ends $(k_a, k_b)$ of the search range over sorted clients.

    .. math:: k_q = \max(1, \min\{k : S_k \ge q\, S_N\})

    computed in integers, so that a quartile that falls exactly on a client is found there.
    """
    running = _running_sums(sizes)
    total = int(running[-1])
    # S_k >= q S_N  <=>  S_k >= ceil(q S_N), both sides being integers.
    first, end = (-(-q.numerator * total // q.denominator) for q in (a, b))
    k_a, k_b = np.searchsorted(running, [first, end]) + 1
    return max(1, int(k_a)), max(1, int(k_b))


def _running_sums(sizes: Integers) -> Integers:
    if float(sizes.sum(dtype=np.float64)) >= 2.0**62:
        raise ConfigurationError(
            "the examples of a cohort must number less than 2^62; "
            f"got a client with {int(sizes.max())}: leave it out or cap its size."
        )
    return np.cumsum(sizes)


def best_split(norms: Floats, sizes: Integers, first: int, end: int, weighting: Weighting) -> int:
    r"""Return the smallest $\tau$ in ``[first, end)`` with the least intra-split variance.

    With clusters $U_1 = \{u_1 .. u_\tau\}$ and $U_2 = \{u_{\tau+1} .. u_N\}$,

    .. math::
        \mathrm{Var}(U) = \frac{1}{S_U} \sum_{i \in U} n_i (u_i - \bar u)^2, \quad
        \bar u = \frac{1}{S_U} \sum_{i \in U} n_i u_i

    .. math::
        \mathrm{Var}_{intra} = w_1 \mathrm{Var}(U_1) + w_2 \mathrm{Var}(U_2), \quad
        w_j = |U_j| / N \text{ (count)} \text{ or } S_{U_j} / S_N \text{ (mass)}

    Parameters
    ----------
    norms, sizes
        The clients in ascending order of norm.
    first, end
        The search range, ``1 <= first < end <= N``.
    weighting
        How clusters weigh.
    """
    if norms[0] == norms[-1]:  # every variance is zero
        return first
    candidates: Sequence[int] = range(first, end)
    if len(candidates) > _FEW:
        candidates = _contenders(norms, sizes, first, end, weighting).tolist()
    if len(candidates) == 1:
        return candidates[0]
    return _exact_minimum(norms, sizes, candidates, weighting)


def _exact_minimum(
    norms: Floats, sizes: Integers, candidates: Sequence[int], weighting: Weighting
) -> int:
    """Return the first of the ascending candidates with the least variance, in integers."""
    values, weights = _as_integers(norms), sizes.tolist()
    products = [n * u for n, u in zip(weights, values, strict=True)]
    mass = list(accumulate(weights))
    first_moment = list(accumulate(products))
    total, total_first, count = mass[-1], first_moment[-1], len(values)
    second_moment = list(accumulate(p * u for p, u in zip(products, values, strict=True)))
    total_second = second_moment[-1]

    best, best_numerator, best_denominator = 0, 1, 0  # infinity
    for tau in candidates:
        s1, a1, b1 = mass[tau - 1], first_moment[tau - 1], second_moment[tau - 1]
        s2, a2, b2 = total - s1, total_first - a1, total_second - b1
        spread1, spread2 = b1 * s1 - a1 * a1, b2 * s2 - a2 * a2  # S^2 Var(U)
        if weighting == "count":
            denominator = s1 * s1 * s2 * s2
            numerator = tau * spread1 * s2 * s2 + (count - tau) * spread2 * s1 * s1
        else:
            denominator = s1 * s2
            numerator = spread1 * s2 + spread2 * s1
        if numerator * best_denominator < best_numerator * denominator:
            best, best_numerator, best_denominator = tau, numerator, denominator
    return best


def _as_integers(values: Floats) -> list[int]:
    """Return the values times one common power of two, exactly."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    scale = max(denominator for _, denominator in ratios)
    return [numerator * (scale // denominator) for numerator, denominator in ratios]


def _contenders(
    norms: Floats, sizes: Integers, first: int, end: int, weighting: Weighting
) -> NDArray[np.intp]:
    """Return the positions whose variance may be the least, given every rounding error.

    Distances are taken from the smallest norm for the easy cluster and from the largest for
    the hard one, so that neither loses its digits to the other's magnitude.
    """
    weights = sizes.astype(np.float64)
    scaled = np.ldexp(norms, -int(np.frexp(norms[-1])[1]))  # largest in [0.5, 1): no overflow
    easy = _spread(scaled - scaled[0], weights, first, end)
    hard = _spread(
        (scaled[-1] - scaled)[::-1], weights[::-1], len(norms) - end + 1, len(norms) - first + 1
    )
    tau = np.arange(first, end, dtype=np.float64)
    (spread1, mass1, error1), (spread2, mass2, error2) = easy, tuple(part[::-1] for part in hard)
    if weighting == "count":
        share1, share2 = tau / mass1, (len(norms) - tau) / mass2
    else:
        share1 = share2 = np.ones(len(tau))
    variance = share1 * spread1 + share2 * spread2
    error = share1 * error1 + share2 * error2 + 1e-280  # the last term covers underflow
    least = float((variance + error).min())
    return np.flatnonzero(variance - error <= least) + first


def _spread(
    distances: Floats, weights: Floats, first: int, end: int
) -> tuple[Floats, Floats, Floats]:
    r"""Return $\sum n (d - \bar d)^2$, $\sum n$ and an error bound over the prefixes in the range.

    With $A = \sum n d$ and $B = \sum n d^2$ the spread is $B - A^2 / S$. All terms are positive,
    so a running sum of m terms is right to $(m + 4) \epsilon$ relative, and as $A^2 / S \le B$
    the whole is right to $3 (m + 8) \epsilon B$; the bound below doubles that.
    """
    first_terms = weights * distances
    second_terms = first_terms * distances
    mass, terms = _prefix_sums(weights, first, end)
    first_moment, _ = _prefix_sums(first_terms, first, end)
    second_moment, _ = _prefix_sums(second_terms, first, end)
    error = 6 * (terms + 8) * np.finfo(np.float64).eps * second_moment
    return second_moment - first_moment**2 / mass, mass, error


def _prefix_sums(values: Floats, first: int, end: int) -> tuple[Floats, int]:
    """Return the sums of the first k values for k in [first, end), and how many additions deep.

    Running sums inside blocks, and of the blocks' totals: the error grows with the square root
    of the length instead of the length.
    """
    inside = values[first : end - 1]
    width = max(1, int(len(inside) ** 0.5))
    padded = np.zeros(-(-len(inside) // width) * width + width)
    padded[: len(inside)] = inside
    running = np.cumsum(padded.reshape(-1, width), axis=1)
    before = np.zeros(len(running))
    np.cumsum(running[:-1, -1], out=before[1:])
    sums = np.empty(end - first)
    base = values[:first].sum()  # pairwise: at most 128 + log2(n) additions deep
    sums[0] = base
    sums[1:] = (running + before[:, None]).ravel()[: len(inside)] + base
    return sums, width + len(before) + 160
