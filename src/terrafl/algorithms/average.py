"""The weighted mean of local models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from terrafl.algorithms.protocol import LocalModel, Vector

__all__ = ["weighted_mean"]


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
    total = np.zeros(models[0].vector.shape, dtype=np.float64)
    term = np.empty_like(total)
    for model in models:
        total += np.multiply(model.vector, model.weight, out=term, dtype=np.float64)
    total /= sum(model.weight for model in models)
    return total.astype(np.float32)
