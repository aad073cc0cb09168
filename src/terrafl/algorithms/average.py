"""The weighted mean of local models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from terrafl.algorithms.protocol import LocalModel, Vector

__all__ = ["weighted_mean"]

_BLOCK = 1 << 14


def weighted_mean(models: Sequence[LocalModel]) -> Vector:
    r"""Return $\sum_k w_k \theta^k / \sum_k w_k$.

    The sum is accumulated in float64, one model after another in the order given, so that equal
    inputs give equal bytes however the models were computed.

    Examples
    --------
    >>> a = LocalModel(client_id="a", vector=np.float32([0, 2]), weight=1.0, num_steps=1)
    >>> b = LocalModel(client_id="b", vector=np.float32([4, 2]), weight=3.0, num_steps=1)
    >>> weighted_mean([a, b])
    array([3., 2.], dtype=float32)
    """
    mean = np.empty_like(models[0].vector)
    total_weight = sum(model.weight for model in models)
    for start in range(0, len(mean), _BLOCK):  # a block stays in the cache for all models
        part = slice(start, start + _BLOCK)
        total = np.zeros(len(mean[part]), dtype=np.float64)
        for model in models:
            total += np.multiply(model.vector[part], model.weight, dtype=np.float64)
        mean[part] = total / total_weight
    return mean
