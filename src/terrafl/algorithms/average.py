"""The weighted mean of local models."""

from collections.abc import Sequence

import numpy as np

from terrafl.records import Update, Vector

_BLOCK = 1 << 14


def weighted_mean(received: Vector, updates: Sequence[Update]) -> Vector:
    r"""Return $\sum_k w_k \theta^k / \sum_k w_k$; the model received does not matter.

    The sum is accumulated in float64, one model after another in the order given, so that equal
    inputs give equal bytes however the models were computed.
    """
    mean = np.empty_like(updates[0].vector)
    total_weight = sum(update.weight for update in updates)
    for start in range(0, len(mean), _BLOCK):  # a block stays in the cache for all models
        part = slice(start, start + _BLOCK)
        total = np.zeros(len(mean[part]), dtype=np.float64)
        for update in updates:
            total += np.multiply(update.vector[part], update.weight, dtype=np.float64)
        mean[part] = total / total_weight
    return mean
