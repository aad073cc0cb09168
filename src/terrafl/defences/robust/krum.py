"""Krum and multi-Krum: believe the models that have the nearest neighbours.

References
----------
Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent",
NeurIPS 2017.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from terrafl.algorithms.means import weighted_mean
from terrafl.defences.guard.updates import squared_distance
from terrafl.defences.robust.rule import Tolerant
from terrafl.errors import require
from terrafl.records import Floats, Update, Vector


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
