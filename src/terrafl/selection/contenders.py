r"""Which positions may be the best split of a large cohort: floats with an error bound.

Fast and careful rather than exact: every position that rounding could have robbed of the least
variance is kept, to be judged in integers.

The spread of a cluster, $\sum n_i (u_i - \bar u)^2 = B - A^2 / S$, grows with every client that
joins it. So a look at every $L$-th position bounds the variance at all positions between, and
most of them need not be looked at.
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
Integers = NDArray[np.int64]

_FEW = 4096  # up to this many positions, looking at all of them is faster
_CHUNK = 8192  # terms in one piece: they stay in the cache, and memory is not asked for anew
_PAIRWISE = 160  # additions that a term passes through in numpy's sums


def contenders(
    norms: Floats, running: Integers, first: int, end: int, *, weighting: Weighting
) -> Integers:
    """Return the positions in ``[first, end)`` whose variance may be the least.

    Parameters
    ----------
    norms
        In ascending order; not all are equal.
    running
        Running sums of the clients' sizes.
    first, end
        The search range, ``1 <= first < end <= N``.
    weighting
        How clusters weigh, see :func:`terrafl.selection.splitting.split`.
    """
    terms = _Terms.of(norms, running, norms[(first + end) // 2])
    num_terms = end - 1 - first  # clients that turn easy along the range
    length = math.isqrt(num_terms) // 2 if num_terms > _FEW else 1
    count = num_terms // length
    stop = first + count * length
    sums = _after(terms.total(0, first), terms.by_block(first, stop, length))
    rest = _after(sums[:, -1], terms.between(stop, end - 1))
    total = rest[:, -1] + terms.total(end - 1, len(norms))
    depth = _PAIRWISE + count + 2 * length + len(norms) // _CHUNK
    search = _Search.over(running, total, first, end, depth=depth, weighting=weighting)
    positions = np.arange(first, end, length)
    if length == 1:
        return search.least(positions, sums)
    promising = search.promising(positions, sums)
    inside = np.cumsum(terms.of_blocks(first, length, promising), axis=2)
    inside += sums[:, promising, None]
    within = positions[promising, None] + np.arange(1, length + 1)
    return search.least(
        np.concatenate([positions[:1], within.ravel(), np.arange(stop + 1, end)]),
        np.concatenate([sums[:, :1], inside.reshape(2, -1), rest[:, 1:]], axis=1),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """The terms n d and n d^2, as two rows, with d the scaled distance from an origin."""

    norms: Floats
    running: Integers
    origin: float
    scale: float

    @classmethod
    def of(cls, norms: Floats, running: Integers, origin: float) -> _Terms:
        """Choose the scale: a power of two, which is exact, so that no square overflows."""
        scale = math.ldexp(1.0, min(-math.frexp(norms[-1])[1], 1023))
        return cls(norms, running, origin, scale)

    def between(self, start: int, stop: int) -> Floats:
        """Return the terms of some clients."""
        sizes = np.empty(stop - start)
        if start < stop:
            sizes[1:] = self.running[start + 1 : stop] - self.running[start : stop - 1]
            sizes[0] = self.running[start] - (self.running[start - 1] if start else 0)
        return self._terms(self.norms[start:stop], sizes)

    def of_blocks(self, first: int, length: int, blocks: Integers) -> Floats:
        """Return the terms of blocks of a length, counted from the first client."""
        rows = first + length * blocks[:, None] + np.arange(length)
        return self._terms(self.norms[rows], self.running[rows] - self.running[rows - 1])

    def _terms(self, norms: Floats, sizes: NDArray[np.float64] | Integers) -> Floats:
        terms = np.empty((2, *norms.shape))
        distances = norms - self.origin
        distances *= self.scale
        np.multiply(sizes, distances, out=terms[0])
        np.multiply(terms[0], distances, out=terms[1])
        return terms

    def total(self, start: int, stop: int) -> Floats:
        """Return the sums of the terms of some clients."""
        total = np.zeros(2)
        for begin in range(start, stop, _CHUNK):
            total += self.between(begin, min(begin + _CHUNK, stop)).sum(axis=1)
        return total

    def by_block(self, start: int, stop: int, length: int) -> Floats:
        """Return the sums of the terms of every block of a length."""
        if length == 1:
            return self.between(start, stop)
        sums = np.empty((2, (stop - start) // length))
        per_chunk = max(1, _CHUNK // length)
        for block in range(0, sums.shape[1], per_chunk):
            begin = start + block * length
            terms = self.between(begin, min(begin + per_chunk * length, stop))
            sums[:, block : block + per_chunk] = terms.reshape(2, -1, length).sum(axis=2)
        return sums


def _after(before: Floats, terms: Floats) -> Floats:
    """Return the sums before, and after each further term."""
    sums = np.empty((2, terms.shape[1] + 1))
    sums[:, 0] = before
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    sums[:, 1:] += before[:, None]
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    r"""Bounds of N times the variance.

    Parameters
    ----------
    running
        Running sums of the sizes, $S$.
    total
        Of all clients, $A$ and $B$: sums of $n d$ and $n d^2$.
    errors
        Bounds of the error of the spread of the easy and of the hard cluster.
    weighting
        How clusters weigh.

    Notes
    -----
    A sum in which no term passes through more than $m$ additions is off by at most
    $(m + 6) \epsilon$ times the sum of magnitudes. For $B$ that sum is at most $B_N$, for $A$
    at most $\sqrt{S_N B_N}$ (Cauchy and Schwarz); masses are integers. With
    $\delta = 4 (m + 16) \epsilon$, twice what the hard cluster, a difference of two sums, needs,
    and $S$ the least mass of a cluster in the range, its spread is off by at most

    .. math::
        \delta B_N + (2 \sqrt{S B_N} + \delta_A) \delta_A / S, \quad
        \delta_A = \delta \sqrt{S_N B_N}

    since $|A| \le \sqrt{S B_N}$, and $|A| / S$ is largest where $S$ is least. 1e-280 covers
    underflow, next to norms of about 1.
    """

    running: Integers
    total: Floats
    errors: tuple[float, float]
    weighting: Weighting

    @classmethod
    def over(
        cls,
        running: Integers,
        total: Floats,
        first: int,
        end: int,
        *,
        depth: int,
        weighting: Weighting,
    ) -> _Search:
        """Prepare the search."""
        all_mass, second_moment = float(running[-1]), float(total[1])
        delta = 4 * (depth + 16) * float(np.finfo(np.float64).eps)
        delta_first = delta * math.sqrt(all_mass * second_moment)

        def error(least_mass: float) -> float:
            largest = 2 * math.sqrt(least_mass * second_moment) + delta_first
            return delta * second_moment + largest * delta_first / least_mass + 1e-280

        easy, hard = float(running[first - 1]), all_mass - float(running[end - 2])
        return cls(running, total, (error(easy), error(hard)), weighting)

    def least(self, positions: Integers, sums: Floats) -> Integers:
        """Return the positions that may have the least variance, given all sums A and B."""
        mass = self.running[positions - 1]
        spread_easy, spread_hard = self._spreads(mass, sums)
        easy, hard = self._shares(positions, positions, mass, mass)
        variance = easy * spread_easy + hard * spread_hard
        error = float(np.max(easy)) * self.errors[0] + float(np.max(hard)) * self.errors[1]
        found: Integers = positions[variance <= float(variance.min()) + 2 * error]
        return found

    def promising(self, positions: Integers, sums: Floats) -> Integers:
        """Return the blocks between neighbouring positions in which the least variance may lie.

        Inside a block the easy cluster spreads at least as at its start and weighs at least its
        clients there over its mass at the end; the hard cluster the other way round.
        """
        mass = self.running[positions - 1]
        spread_easy, spread_hard = self._spreads(mass, sums)
        easy, hard = self._shares(positions, positions, mass, mass)
        known = easy * (spread_easy + self.errors[0]) + hard * (spread_hard + self.errors[1])
        easy, hard = self._shares(positions[:-1], positions[1:], mass[:-1], mass[1:])
        low = easy * (spread_easy[:-1] - self.errors[0])
        low += hard * (spread_hard[1:] - self.errors[1])
        found: Integers = np.flatnonzero(low <= float(known.min()) * (1 + 1e-12))
        return found

    def _spreads(self, mass: Integers, sums: Floats) -> tuple[Floats, Floats]:
        """Return the spread of the easy and of the hard cluster, given the easy one's mass."""
        easy: Floats = sums[1] - sums[0] * sums[0] / mass
        first = self.total[0] - sums[0]
        hard: Floats = self.total[1] - sums[1] - first * first / (self.running[-1] - mass)
        return easy, hard

    def _shares(
        self, starts: Integers, ends: Integers, mass_at_starts: Integers, mass_at_ends: Integers
    ) -> tuple[Floats, Floats]:
        """Return the least weights over mass, times N, of both clusters between two positions."""
        if self.weighting == "mass":
            return np.ones(1), np.ones(1)
        easy = starts / mass_at_ends
        hard = (len(self.running) - ends) / (self.running[-1] - mass_at_starts)
        return easy, hard
