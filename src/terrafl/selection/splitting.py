r"""The split of Algorithm 1: divide sorted clients into an easy and a hard cluster.

Clients are sorted by update norm, $u_1 \le \dots \le u_N$, with sizes $n_i = |D^i_{train}|$ and
running sums $S_k = \sum_{i \le k} n_i$. Positions are counted from 1, as in the paper. The
clients after position $\tau$ are the hard cluster.

The result is exact: see :mod:`terrafl.selection.candidate_splits`.

References
----------
Balivada et al., "Heterogeneity-Aware Client Selection Methodology For Efficient Federated
Learning", equations 4 and 5 and Algorithm 1, lines 9-12.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from terrafl.errors import ConfigurationError
from terrafl.records import Floats, Positions
from terrafl.selection.candidate_splits import (
    Integers,
    Weighting,
    candidate_splits,
    least_variance,
)

Q1 = Fraction(1, 4)
Q3 = Fraction(3, 4)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    r"""A cohort split into an easy and a hard cluster.

    Parameters
    ----------
    order
        Indices of the clients in the given arrays, easiest first.
    first, end
        Ends of the search range, $k_a$ and $k_b$: $k_{Q1}$ and $k_{Q3}$ by default.
    tau
        Number of easy clients; the others are hard.
    empty_range
        Whether no position satisfied $k_a \le \tau < k_b$, so that $\tau = \min(k_a, N-1)$.
    """

    order: Positions
    first: int
    end: int
    tau: int
    empty_range: bool

    @property
    def easy(self) -> Positions:
        """Indices of the easy clients."""
        return self.order[: self.tau]

    @property
    def hard(self) -> Positions:
        """Indices of the hard clients."""
        return self.order[self.tau :]


def split(
    norms: Floats | Sequence[float],
    sizes: Integers | Sequence[int],
    *,
    search_range: tuple[Fraction, Fraction] = (Q1, Q3),
    weighting: Weighting = "count",
) -> Split:
    r"""Split a cohort where the intra-split variance is smallest.

    With clusters $U_1 = \{u_1 .. u_\tau\}$ and $U_2 = \{u_{\tau+1} .. u_N\}$, the split is
    the smallest $\tau$, $k_a \le \tau < k_b$, that minimises

    .. math::
        \mathrm{Var}_{intra} = w_1 \mathrm{Var}(U_1) + w_2 \mathrm{Var}(U_2), \quad
        w_j = |U_j| / N \text{ (count)} \text{ or } S_{U_j} / S_N \text{ (mass)}

    .. math::
        \mathrm{Var}(U) = \frac{1}{S_U} \sum_{i \in U} n_i (u_i - \bar u)^2, \quad
        \bar u = \frac{1}{S_U} \sum_{i \in U} n_i u_i

    Parameters
    ----------
    norms
        Update norm of each client, finite and not negative. Clients with equal norms keep their
        order, so pass the clients in the order of their ids.
    sizes
        Number of examples of each client, at least 1. The largest times the number of clients
        must be below $2^{62}$.
    search_range
        Fractions $a < b$ of the data that limit $\tau$, see :func:`range_ends`.
    weighting
        Weights of the clusters. ``count``: the number of clients, as printed in the paper.
        ``mass``: the number of examples, which obeys the law of total variance.

    Examples
    --------
    >>> cut = split([5.0, 0.1, 0.3, 4.0], [10, 10, 10, 10])
    >>> cut.order.tolist(), cut.first, cut.end, cut.tau
    ([1, 2, 3, 0], 1, 3, 2)
    """
    norms, sizes = np.asarray(norms, dtype=np.float64), np.asarray(sizes)
    if int(sizes.max()) * len(sizes) >= 2**62:
        raise ConfigurationError(
            f"{len(sizes)} clients must have fewer than {2**62 // len(sizes)} examples each; "
            f"got one with {int(sizes.max())}: remove that client, or limit its size."
        )
    order = _ascending(norms)
    norms, sizes = norms[order], sizes[order].astype(np.int64)
    first, end = range_ends(np.cumsum(sizes), *search_range)
    if first >= end:
        return Split(order, first, end, min(first, len(norms) - 1), True)
    if norms[0] == norms[-1]:  # every variance is zero
        return Split(order, first, end, first, False)
    candidates = candidate_splits(norms, sizes, first, end, weighting)
    if len(candidates) > 1:
        candidates = [least_variance(norms, sizes, candidates, weighting)]
    return Split(order, first, end, candidates[0], False)


def _ascending(norms: Floats) -> Positions:
    """Return the ascending order; equal norms keep their order.

    numpy's unstable sort is several times faster than its stable one, and ties are rare.
    """
    order = np.argsort(norms)
    ordered = norms[order]
    if (ordered[1:] == ordered[:-1]).any():
        order = np.argsort(norms, kind="stable")
    return order


def range_ends(running: Sequence[int] | Integers, a: Fraction, b: Fraction) -> tuple[int, int]:
    r"""Return the ends $(k_a, k_b)$ of the search range.

    .. math:: k_q = \max(1, \min\{k : S_k \ge q\, S_N\})

    computed in integers, so that a quartile exactly at a client is not missed by rounding.

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
