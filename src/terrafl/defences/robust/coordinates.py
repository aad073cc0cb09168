"""Coordinate by coordinate: the median and the trimmed mean.

References
----------
Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.defences.robust.rule import Tolerant
from terrafl.records import Floats, Update, Vector

_BLOCK = 1 << 14

Sorted = NDArray[np.float32]
"""Models by coordinates, every column in rising order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Median(Tolerant):
    r"""Take the middle of every coordinate, $\theta_i \leftarrow \operatorname{med}_k \theta^k_i$.

    Of an even number of models it is the mean of the two in the middle. As long as $n > 2f$,
    every coordinate lies between two honest ones.

    Parameters
    ----------
    attackers
        To be tolerated in a cohort, $f$.

    Notes
    -----
    Clients with different data disagree honestly, and a coordinate that few of them move stays
    where it is: the more heterogeneous the clients, the more the median costs.
    """

    name: ClassVar[str] = "median"

    def mean(self, received: Vector, updates: Sequence[Update]) -> Vector:
        """Return the median."""
        low, high = (len(updates) - 1) // 2, len(updates) // 2

        def middle(part: Sorted) -> Floats:
            return np.asarray(part[[low, high]].mean(axis=0, dtype=np.float64))

        return _by_coordinate(updates, middle)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimmedMean(Tolerant):
    r"""Leave out the $f$ least and the $f$ greatest of every coordinate; average the rest.

    .. math:: \theta_i \leftarrow \frac{1}{n - 2f} \sum_{j=f+1}^{n-f} \theta^{(j)}_i

    with $\theta^{(1)}_i \le \dots \le \theta^{(n)}_i$.

    Parameters
    ----------
    attackers
        To be tolerated in a cohort, $f$.
    """

    name: ClassVar[str] = "trimmed-mean"

    def mean(self, received: Vector, updates: Sequence[Update]) -> Vector:
        """Return the trimmed mean."""

        def inner(part: Sorted) -> Floats:
            kept = part[self.attackers : len(part) - self.attackers]
            return np.asarray(kept.mean(axis=0, dtype=np.float64))

        return _by_coordinate(updates, inner)


def _by_coordinate(updates: Sequence[Update], rule: Callable[[Sorted], Floats]) -> Vector:
    """Apply a rule to the sorted values of every coordinate, a cache's worth at a time."""
    result = np.empty_like(updates[0].vector)
    for start in range(0, len(result), _BLOCK):
        part = slice(start, start + _BLOCK)
        result[part] = rule(np.sort([update.vector[part] for update in updates], axis=0))
    return result
