r"""The split of Algorithm 1: where to cut a sorted list of clients into easy and hard.

Clients are sorted by update norm, $u_1 \le \dots \le u_N$, with sizes $n_i = |D^i_{train}|$ and
running sums $S_k = \sum_{i \le k} n_i$. Positions are counted from 1, as in the paper; the hard
cluster is what stands after position $\tau$.

The answer is exact. Every float is an integer times a power of two, so variances can be compared
in integers; in large cohorts floating-point sums with a proven error bound first discard the
positions that cannot win.

References
----------
Balivada et al., "Heterogeneity-Aware Client Selection Methodology For Efficient Federated
Learning", equations 4 and 5 and Algorithm 1, lines 9-12.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import ConfigurationError
from terrafl.selection.contenders import Weighting, contenders
from terrafl.selection.moments import Moments, moments, moments_of_few

__all__ = ["Q1", "Q3", "Split", "Weighting", "least_variance", "range_ends", "split"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Q1 = Fraction(1, 4)
Q3 = Fraction(3, 4)

# Up to this many clients plain Python is faster than numpy.
_FEW = 64


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
    norms: Floats | Sequence[float],
    sizes: Integers | Sequence[int],
    *,
    search_range: tuple[Fraction, Fraction] = (Q1, Q3),
    weighting: Weighting = "count",
) -> Split:
    r"""Cut a cohort where the intra-split variance is smallest.

    With clusters $U_1 = \{u_1 .. u_\tau\}$ and $U_2 = \{u_{\tau+1} .. u_N\}$, the cut is the
    smallest $\tau$, $k_a \le \tau < k_b$, that minimises

    .. math::
        \mathrm{Var}_{intra} = w_1 \mathrm{Var}(U_1) + w_2 \mathrm{Var}(U_2), \quad
        w_j = |U_j| / N \text{ (count)} \text{ or } S_{U_j} / S_N \text{ (mass)}

    .. math::
        \mathrm{Var}(U) = \frac{1}{S_U} \sum_{i \in U} n_i (u_i - \bar u)^2, \quad
        \bar u = \frac{1}{S_U} \sum_{i \in U} n_i u_i

    Parameters
    ----------
    norms
        Update norm of each client, finite and not negative. Equal norms keep the order they
        are given in: give clients in the order of their ids.
    sizes
        Number of examples of each client, at least 1.
    search_range
        Fractions $a < b$ of the data between which the cut is sought, see :func:`range_ends`.
    weighting
        ``count``: clusters weigh by their number of clients, as the paper prints it. ``mass``:
        by their number of examples, which obeys the law of total variance.

    Examples
    --------
    >>> cut = split([5.0, 0.1, 0.3, 4.0], [10, 10, 10, 10])
    >>> cut.order.tolist(), cut.first, cut.end, cut.tau
    ([1, 2, 3, 0], 1, 3, 2)
    """
    if len(norms) <= _FEW:
        few_norms = norms.tolist() if isinstance(norms, np.ndarray) else list(norms)
        few_sizes = sizes.tolist() if isinstance(sizes, np.ndarray) else list(sizes)
        return _split_few(few_norms, few_sizes, search_range, weighting)
    norms, sizes = np.asarray(norms, dtype=np.float64), np.asarray(sizes, dtype=np.int64)
    if int(sizes.max()) * len(sizes) >= 2**62:
        raise ConfigurationError(
            f"{len(sizes)} clients must have fewer than {2**62 // len(sizes)} examples each; "
            f"got one with {int(sizes.max())}: leave it out, or cap its size."
        )
    order, ordered_norms, running = _sorted(norms, sizes)
    first, end = range_ends(running, *search_range)
    if first >= end:
        return Split(order, first, end, min(first, len(norms) - 1), True)
    if ordered_norms[0] == ordered_norms[-1]:  # every variance is zero
        return Split(order, first, end, first, False)
    candidates = contenders(ordered_norms, running, first, end, weighting=weighting).tolist()
    if len(candidates) > 1:
        exact = moments(ordered_norms, sizes[order], candidates)
        candidates = [least_variance(candidates, exact, len(norms), weighting)]
    return Split(order, first, end, candidates[0], False)


def _split_few(
    norms: list[float],
    sizes: list[int],
    search_range: tuple[Fraction, Fraction],
    weighting: Weighting,
) -> Split:
    order = sorted(range(len(norms)), key=norms.__getitem__)
    ordered_sizes = [sizes[i] for i in order]
    first, end = range_ends(list(accumulate(ordered_sizes)), *search_range)
    empty_range = first >= end
    if empty_range:
        tau = min(first, len(norms) - 1)
    elif end - first == 1:
        tau = first
    else:
        candidates = range(first, end)
        exact = moments_of_few([norms[i] for i in order], ordered_sizes, candidates)
        tau = least_variance(candidates, exact, len(norms), weighting)
    return Split(np.array(order, dtype=np.intp), first, end, tau, empty_range)


def _sorted(norms: Floats, sizes: Integers) -> tuple[NDArray[np.intp], Floats, Integers]:
    """Return the ascending order, equal norms as they stand, and in it norms and running sizes.

    numpy's unstable sort is several times faster than its stable one, and ties are rare. Memory
    is asked for in one piece: malloc keeps what is freed up to twice its largest piece, and new
    pages would cost more than the sums do.
    """
    order = np.argsort(norms)
    piece = np.empty((2, len(norms)))
    ordered, running = piece[0], piece[1].view(np.int64)
    norms.take(order, out=ordered, mode="clip")  # a mode that needs no copy; nothing is clipped
    if (ordered[1:] == ordered[:-1]).any():
        order = np.argsort(norms, kind="stable")
    sizes.take(order, out=running, mode="clip")
    np.cumsum(running, out=running)
    return order, ordered, running


def range_ends(running: Sequence[int] | Integers, a: Fraction, b: Fraction) -> tuple[int, int]:
    r"""Return the ends $(k_a, k_b)$ of the search range.

    .. math:: k_q = \max(1, \min\{k : S_k \ge q\, S_N\})

    computed in integers, so that a quartile that falls exactly on a client is found there.

    Parameters
    ----------
    running
        The running sums $S_1 .. S_N$.
    a, b
        Fractions of the data.

    Examples
    --------
    >>> range_ends([10, 20, 30, 40], Q1, Q3)
    (1, 3)
    """
    total = int(running[-1])
    # S_k >= q S_N  <=>  S_k >= ceil(q S_N), both sides being integers.
    first, end = (-(-q.numerator * total // q.denominator) for q in (a, b))
    return bisect_left(running, first) + 1, bisect_left(running, end) + 1


def least_variance(
    candidates: Sequence[int], exact: Sequence[Moments], count: int, weighting: Weighting
) -> int:
    """Return the first candidate with the least intra-split variance, in integers.

    Parameters
    ----------
    candidates
        Positions, ascending.
    exact
        Moments of the clients up to each candidate, then those of all clients.
    count
        Number of clients, $N$.
    weighting
        How clusters weigh.
    """
    total, total_first, total_second = exact[-1]
    best, best_numerator, best_denominator = 0, 1, 0  # infinity
    for tau, (s1, a1, b1) in zip(candidates, exact, strict=False):
        s2, a2, b2 = total - s1, total_first - a1, total_second - b1
        spread1, spread2 = b1 * s1 - a1 * a1, b2 * s2 - a2 * a2  # S^2 Var(U)
        if weighting == "count":
            square1, square2 = s1 * s1, s2 * s2
            denominator = square1 * square2
            numerator = tau * spread1 * square2 + (count - tau) * spread2 * square1
        else:
            denominator = s1 * s2
            numerator = spread1 * s2 + spread2 * s1
        if numerator * best_denominator < best_numerator * denominator:
            best, best_numerator, best_denominator = tau, numerator, denominator
    return best
