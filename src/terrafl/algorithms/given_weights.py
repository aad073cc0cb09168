"""The mean under given weights."""

from collections.abc import Sequence

import numpy as np

from terrafl.records import Update, Vector

_BLOCK = 1 << 14


def mean_of_given_weights(received: Vector, updates: Sequence[Update]) -> Vector:
    r"""Return $\theta + \sum_k w_k (\theta^k - \theta)$; the weights need not sum to 1.

    The sum is accumulated in float64, one model after another in the order given.
    """
    mean = np.empty_like(received)
    for start in range(0, len(mean), _BLOCK):  # a block stays in the cache for all models
        part = slice(start, start + _BLOCK)
        base = received[part].astype(np.float64)
        total = base.copy()
        for update in updates:
            total += update.weight * (update.vector[part] - base)
        mean[part] = total
    return mean
