"""Distances of whole models, clipping, and the outliers among norms."""

import numpy as np

from terrafl.records import Floats, Vector

_BLOCK = 1 << 16
_NORMAL = 1.4826  # a normal distribution's standard deviation in units of its MAD
_LEAST_MAD = 0.01  # norms that differ by one percent are alike


def squared_distance(one: Vector, other: Vector) -> float:
    r"""Return $\|\theta^k - \theta\|_2^2$ over the whole model, in float64.

    Examples
    --------
    >>> squared_distance(np.float32([3, 1]), np.float32([0, 5]))
    25.0
    """
    total = 0.0
    for start in range(0, len(one), _BLOCK):
        part = slice(start, start + _BLOCK)
        total += float(np.square(np.subtract(one[part], other[part], dtype=np.float64)).sum())
    return total


def clipped(vector: Vector, received: Vector, factor: float) -> Vector:
    r"""Return $\theta + f (\theta^k - \theta)$, the update shortened to a fraction $f$.

    Examples
    --------
    >>> clipped(np.float32([4, 1]), np.float32([0, 5]), 0.25)
    array([1., 4.], dtype=float32)
    """
    shorter = np.empty_like(vector)
    for start in range(0, len(vector), _BLOCK):
        part = slice(start, start + _BLOCK)
        update = np.subtract(vector[part], received[part], dtype=np.float64)
        shorter[part] = received[part] + factor * update
    return shorter


def deviations(norms: Floats, known: Floats) -> Floats:
    r"""Return how many robust standard deviations each log norm lies from the usual.

    .. math::
        z_k = \frac{|\log u_k - m|}{1.4826 \max(\mathrm{MAD}, 0.01)}, \quad
        m = \operatorname{med}_j \log u_j, \quad
        \mathrm{MAD} = \operatorname{med}_j |\log u_j - m|

    over the known norms $u_j > 0$. An update of norm 0 is infinitely far from any other.

    Parameters
    ----------
    norms
        Norms to judge, $u_k$.
    known
        Norms that show what is usual, $u_j$.
    """
    moved = np.log(known[known > 0])
    if moved.size == 0:
        return np.zeros(len(norms))
    middle = np.median(moved)
    spread = max(float(np.median(np.abs(moved - middle))), _LEAST_MAD)
    logs = np.full(len(norms), -np.inf)
    np.log(norms, out=logs, where=norms > 0)
    return np.asarray(np.abs(logs - middle) / (_NORMAL * spread), dtype=np.float64)
