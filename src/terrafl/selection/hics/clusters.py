"""The formulas of HiCS-FL: estimated label entropy, distances and clusters of clients."""

import numpy as np

from terrafl.records import Floats, Positions


def softmax(logits: Floats) -> Floats:
    r"""Return $\exp(z_i) / \sum_j \exp(z_j)$; the largest is subtracted first."""
    weights: Floats = np.exp(logits - logits.max())
    return weights / float(weights.sum())


def entropy(update: Floats, temperature: float) -> float:
    r"""Estimate the entropy of a client's labels from an update with one number per class.

    .. math:: \hat H = -\sum_i p_i \ln p_i, \quad p = \mathrm{softmax}(\Delta b / Temp)

    computed as $\ln \sum_i e^{z_i} - \sum_i p_i z_i$ with the largest exponent at 0, so that
    large updates do not overflow.
    """
    with np.errstate(over="ignore"):
        exponents = (update - update.max()) / temperature
    exponents = np.maximum(exponents, -1e3)  # exp(-1000) is 0 in floating point
    weights = np.exp(exponents)
    total = float(weights.sum())
    return float(np.log(total) - (weights / total) @ exponents)


def row_means(weight: Floats) -> Floats:
    """Return the mean update of the weights of each class."""
    scale = float(np.abs(weight).max()) or 1.0  # so that no sum overflows
    means: Floats = (weight / scale).reshape(len(weight), -1).mean(axis=1)
    return means * scale


def direction(update: Floats) -> Floats:
    """Return the update scaled to length 1; a zero update stays zero."""
    scale = float(np.abs(update).max()) or 1.0  # so that no square overflows or vanishes
    scaled = update / scale
    return scaled / (float(np.sqrt(scaled @ scaled)) or 1.0)


def distances(directions: Floats, entropies: Floats, entropy_weight: float) -> Floats:
    r"""Return the distances between all pairs of clients, of shape (n, n).

    .. math:: \arccos \frac{\Delta b_u \cdot \Delta b_k}{|\Delta b_u| |\Delta b_k|}
              + \lambda |\hat H_u - \hat H_k|

    The angle is 0 if either update is zero, and between a client and itself.
    """
    # Twelve digits: the last bits of a matrix product depend on the library that computes it.
    cosines = np.clip(np.round(directions @ directions.T, 12), -1.0, 1.0)
    angles = np.arccos(cosines)
    still = ~directions.any(axis=1)
    angles[still, :] = 0.0
    angles[:, still] = 0.0
    return angles + entropy_weight * np.abs(entropies[:, None] - entropies[None, :])


def ward_clusters(rows: Floats, num_clusters: int) -> Positions:
    """Return the cluster of each row by Ward's method, numbered by first appearance.

    Rows are points in Euclidean space; at most ``num_clusters`` clusters are formed.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    if len(rows) == 1:
        return np.zeros(1, dtype=np.intp)
    labels = fcluster(linkage(pdist(rows), "ward"), num_clusters, "maxclust")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
