"""Which positions may be the best split of a large cohort: floats with an error bound.

Fast and careful rather than exact: every position that rounding could have robbed of the least
variance is kept, to be judged in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Weighting", "contenders"]

Weighting = Literal["count", "mass"]
Floats = NDArray[np.float64]

_WIDTH = 512  # terms that are added one after another
_BLOCK = 16 * _WIDTH  # fits the cache with all its intermediate results
_PAIRWISE = 160  # additions that a term passes through in numpy's sum of a block


def contenders(
    norms: Floats, sizes: NDArray[np.int64], first: int, end: int, weighting: Weighting
) -> NDArray[np.intp]:
    """Return the positions in ``[first, end)`` whose variance may be the least.

    Parameters
    ----------
    norms, sizes
        The clients in ascending order of norm; not all norms are equal.
    first, end
        The search range, ``1 <= first < end <= N``.
    weighting
        How clusters weigh, see :func:`terrafl.selection.splitting.split`.
    """
    search = _Search.over(norms, sizes, first, end, weighting)
    bounds = [search.bounds(block) for block in range(len(search.starts))]
    lowest = [float(low.min()) for low, _ in bounds]
    least = min(float(high.min()) for _, high in bounds)
    return np.concatenate(
        [
            np.flatnonzero(bounds[block][0] <= least) + search.starts[block]
            for block in range(len(bounds))
            if lowest[block] <= least
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cohort:
    """The clients in ascending order of norm, and what distances are multiplied by."""

    norms: Floats
    sizes: NDArray[np.int64]
    scale: float

    def sums(self, origin: float, start: int, stop: int) -> Floats:
        """Return S, A and B of a range; numpy adds pairwise inside a block."""
        total = np.zeros(3)
        for begin in range(start, stop, _BLOCK):
            total += self.terms(origin, begin, min(begin + _BLOCK, stop)).sum(axis=1)
        return total

    def terms(self, origin: float, start: int, stop: int) -> Floats:
        """Return n, n d and n d^2 of a block, as three rows."""
        terms = np.empty((3, stop - start))
        distances = self.norms[start:stop] - origin
        distances *= self.scale
        np.abs(distances, out=distances)
        terms[0] = self.sizes[start:stop]
        np.multiply(terms[0], distances, out=terms[1])
        np.multiply(terms[1], distances, out=terms[2])
        return terms


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The search range cut into blocks, with the sums on either side of each.

    Sums are S, A and B: of n, n d and n d^2, with distances d taken from the smallest norm for
    the easy cluster and from the largest for the hard one, so that neither loses its digits to
    the other's magnitude.
    """

    cohort: _Cohort
    weighting: Weighting
    starts: list[int]  # first position of each block
    stops: list[int]
    easy: list[Floats]  # sums of the clients before a block's first position
    hard: list[Floats]  # sums of the clients after a block's last position
    error: float

    @classmethod
    def over(
        cls, norms: Floats, sizes: NDArray[np.int64], first: int, end: int, weighting: Weighting
    ) -> _Search:
        """Prepare the search."""
        # Distances are scaled by a power of two, which is exact, so that no square overflows.
        scale = math.ldexp(1.0, min(-math.frexp(norms[-1])[1], 1023))
        starts = list(range(first, end, _BLOCK))
        stops = [*starts[1:], end]
        cohort = _Cohort(norms, sizes, scale)
        easy = [cohort.sums(norms[0], 0, first)]
        for start, stop in zip(starts[:-1], stops[:-1], strict=True):
            easy.append(easy[-1] + cohort.sums(norms[0], start, stop))
        hard = [cohort.sums(norms[-1], end - 1, len(norms))]
        for start, stop in zip(stops[-2::-1], stops[:0:-1], strict=True):
            hard.append(hard[-1] + cohort.sums(norms[-1], start - 1, stop - 1))
        depth = _PAIRWISE + 2 * len(norms) // _BLOCK + _WIDTH + _BLOCK // _WIDTH
        return cls(
            cohort=cohort,
            weighting=weighting,
            starts=starts,
            stops=stops,
            easy=easy,
            hard=hard[::-1],
            error=6 * (depth + 16) * float(np.finfo(np.float64).eps),
        )

    def bounds(self, block: int) -> tuple[Floats, Floats]:
        r"""Return a lower and an upper bound of N times the variance at a block's positions.

        The spread of a cluster is $B - A^2 / S$. All terms are positive, so a sum in which no
        term passes through more than m additions is right to $(m + 4) \epsilon$ relative; as
        $A^2 / S \le B$, the spread is right to $3 (m + 8) \epsilon B$. The bound used is more
        than twice that, and 1e-280 covers underflow, next to norms of about 1.
        """
        start, stop = self.starts[block], self.stops[block]
        norms = self.cohort.norms
        easy = _after(self.easy[block], self.cohort.terms(norms[0], start, stop - 1))
        backward = self.cohort.terms(norms[-1], start, stop - 1)[:, ::-1]
        hard = _after(self.hard[block], backward)[:, ::-1]
        variance, error = np.zeros(stop - start), np.full(stop - start, 1e-280)
        position = np.arange(start, stop)
        for sums, count in ((easy, position), (hard, len(norms) - position)):
            mass, first_moment, second_moment = sums
            share = count / mass if self.weighting == "count" else 1.0
            variance += share * (second_moment - first_moment**2 / mass)
            error += share * self.error * second_moment
        return variance - error, variance + error


def _after(before: Floats, terms: Floats) -> Floats:
    """Return the sums before, and after each further term: runs first, then their totals."""
    rows, length = terms.shape
    whole = length // _WIDTH * _WIDTH
    sums = np.empty((rows, length + 1))
    sums[:, 0] = before
    total = before[:, None]
    if whole:
        runs = np.cumsum(terms[:, :whole].reshape(rows, -1, _WIDTH), axis=2)
        totals = np.cumsum(runs[:, :, -1], axis=1) + total
        runs[:, 0] += total
        runs[:, 1:] += totals[:, :-1, None]
        sums[:, 1 : whole + 1] = runs.reshape(rows, whole)
        total = totals[:, -1:]
    sums[:, whole + 1 :] = np.cumsum(terms[:, whole:], axis=1) + total
    return sums
