"""Robust rules: a mean that a few attackers cannot decide.

A rule takes the place of the weighted mean, in front of any algorithm without client state and
behind any selector. Sizes are what clients say they are; the rules here ignore them. The median
and the trimmed mean look at each coordinate alone; Krum and multi-Krum believe the models that
have the nearest neighbours.

References
----------
Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.

Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent",
NeurIPS 2017.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.means import weighted_mean
from terrafl.defences.guard.updates import squared_distance
from terrafl.errors import ConfigurationError, require
from terrafl.records import Floats, Update, Vector

_BLOCK = 1 << 14

Sorted = NDArray[np.float32]
"""Models by coordinates, every column in rising order."""


@runtime_checkable
class Aggregation(Protocol):
    r"""A rule that up to $f$ attackers among $n$ models cannot decide alone."""

    name: ClassVar[str]

    @property
    def attackers(self) -> int:
        r"""Attackers to be tolerated in one cohort, $f$."""
        ...

    @property
    def least_models(self) -> int:
        """Models that it takes to tolerate so many."""
        ...

    def mean(self, received: Vector, updates: Sequence[Update]) -> Vector:
        """Return the model that stands for the mean of at least :attr:`least_models` updates."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerant:
    r"""What the rules here share: they tolerate $f$ attackers among $2f + s$ models.

    Parameters
    ----------
    attackers
        To be tolerated in a cohort, $f$.
    """

    spare: ClassVar[int] = 1  # s

    attackers: int = 1

    def __post_init__(self) -> None:
        require(self.attackers >= 0, "attackers", self.attackers, "an integer of at least 0")

    @property
    def least_models(self) -> int:
        """Return $2f + s$."""
        return 2 * self.attackers + self.spare


def require_tolerable(aggregation: Aggregation, smallest_cohort: int, why: str) -> None:
    """Refuse a rule that a cohort is too small for.

    Parameters
    ----------
    aggregation
        The rule.
    smallest_cohort
        Clients in the smallest cohort that a run aims at.
    why
        What makes it so small.
    """
    if smallest_cohort < aggregation.least_models:
        crowd = f"{aggregation.attackers} attacker{'s' * (aggregation.attackers != 1)}"
        raise ConfigurationError(
            f"aggregation must have cohorts of at least {aggregation.least_models} clients for "
            f"{aggregation.name} to tolerate {crowd} in each; got cohorts of {smallest_cohort} "
            f"({why}): tolerate fewer, or keep cohorts larger."
        )


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


def krum_scores(updates: Sequence[Update], attackers: int) -> Floats:
    r"""Return how far each model lies from its nearest neighbours.

    .. math:: s_k = \sum_{j \in N_k} \|\theta^k - \theta^j\|^2

    with $N_k$ the $n - f - 2$ models nearest to model $k$, itself not counted.

    Parameters
    ----------
    updates
        The models, $n$ of them.
    attackers
        To be tolerated, $f$.
    """
    count = len(updates)
    distances = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            distance = squared_distance(updates[i].vector, updates[j].vector)
            distances[i, j] = distances[j, i] = distance
    np.fill_diagonal(distances, np.inf)  # sorts last: n - f - 2 neighbours never reach it
    nearest = np.sort(distances, axis=1)[:, : count - attackers - 2]
    return np.asarray(nearest.sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Krum(Tolerant):
    r"""Take the one model of the least score, see :func:`krum_scores`; of equals the first.

    Parameters
    ----------
    attackers
        To be tolerated in a cohort, $f$; $2f + 2 < n$ must hold.

    Notes
    -----
    One client's model becomes the global one. Where clients differ, that costs accuracy.
    """

    name: ClassVar[str] = "krum"
    spare: ClassVar[int] = 3

    def mean(self, received: Vector, updates: Sequence[Update]) -> Vector:
        """Return the model of the least score."""
        return updates[int(np.argmin(krum_scores(updates, self.attackers)))].vector.copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiKrum(Tolerant):
    r"""Average the $m$ models of the least scores plainly, see :func:`krum_scores`.

    Parameters
    ----------
    attackers
        To be tolerated in a cohort, $f$; $2f + 2 < n$ must hold.
    keep
        Models averaged, $m$; 0 keeps as many as the proof allows, $m = n - f - 2$, which is
        also the most that are kept.
    """

    name: ClassVar[str] = "multi-krum"
    spare: ClassVar[int] = 3

    keep: int = 0

    def __post_init__(self) -> None:
        Tolerant.__post_init__(self)
        require(self.keep >= 0, "keep", self.keep, "an integer of at least 0 (0: n - f - 2)")

    def mean(self, received: Vector, updates: Sequence[Update]) -> Vector:
        """Return the plain mean of the models of the least scores."""
        most = len(updates) - self.attackers - 2
        count = min(self.keep, most) if self.keep else most
        scores = krum_scores(updates, self.attackers)
        best = np.sort(np.argsort(scores, kind="stable")[:count])
        return weighted_mean(received, [replace(updates[i], weight=1.0) for i in best])


AGGREGATIONS: dict[str, type[Aggregation]] = {
    cls.name: cls for cls in (Median, TrimmedMean, Krum, MultiKrum)
}
