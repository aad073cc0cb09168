"""Means of local models, accumulated in float64 in the order given.

Equal inputs give equal bytes, however the models were computed.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from terrafl.records import Update, Vector

_BLOCK = 1 << 14


def weighted_mean(received: Vector, updates: Sequence[Update]) -> Vector:
    r"""Return $\sum_k w_k \theta^k / \sum_k w_k$; the model received does not matter."""
    mean = np.empty_like(updates[0].vector)
    total_weight = sum(update.weight for update in updates)
    for part in _blocks(len(mean)):
        total = np.zeros(len(mean[part]), dtype=np.float64)
        for update in updates:
            total += np.multiply(update.vector[part], update.weight, dtype=np.float64)
        mean[part] = total / total_weight
    return mean


def mean_of_given_weights(received: Vector, updates: Sequence[Update]) -> Vector:
    r"""Return $\theta + \sum_k w_k (\theta^k - \theta)$; the weights need not sum to 1."""
    mean = np.empty_like(received)
    for part in _blocks(len(mean)):
        base = received[part].astype(np.float64)
        total = base.copy()
        for update in updates:
            total += update.weight * (update.vector[part] - base)
        mean[part] = total
    return mean


def _blocks(size: int) -> Iterator[slice]:
    """Yield slices that stay in the cache for all models."""
    return (slice(start, start + _BLOCK) for start in range(0, size, _BLOCK))
