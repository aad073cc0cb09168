r"""Exact moments of a list of clients, in integers.

A float is an integer times a power of two. With $u_i = m_i 2^{e_i}$ and $e$ the least exponent
that occurs, $S = \sum n_i$, $A = 2^{-e} \sum n_i u_i$ and $B = 2^{-2e} \sum n_i u_i^2$ are
integers, and so are their sums over any part of the list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moments", "moments", "moments_of_few"]

Moments = tuple[int, int, int]
"""$S$, $A$ and $B$ of the clients up to a position, in units common to a list."""

_BLOCK = 1 << 14  # clients that are summed in one piece: fits the cache, and 64 bits
_LARGEST_SIZE = 1 << 22  # sizes below this cannot overflow 64 bits in a block


def moments_of_few(
    norms: Sequence[float], sizes: Sequence[int], positions: Sequence[int]
) -> list[Moments]:
    """Return the moments of the clients up to each position, and those of all, one by one.

    Examples
    --------
    >>> moments_of_few([0.5, 2.0], [10, 1], [1])
    [(10, 10, 10), (11, 14, 26)]
    """
    ratios = [norm.as_integer_ratio() for norm in norms]
    scale = max([denominator for _, denominator in ratios])
    values = [numerator * (scale // denominator) for numerator, denominator in ratios]
    products = [n * u for n, u in zip(sizes, values, strict=True)]
    mass = list(accumulate(sizes))
    first = list(accumulate(products))
    second = list(accumulate([p * u for p, u in zip(products, values, strict=True)]))
    return [(mass[k - 1], first[k - 1], second[k - 1]) for k in (*positions, len(norms))]


def moments(
    norms: NDArray[np.float64], sizes: NDArray[np.int64], positions: Sequence[int]
) -> list[Moments]:
    """Return the moments of the clients up to each position, and those of all.

    Parameters
    ----------
    norms, sizes
        The clients, in ascending order of norm.
    positions
        Ascending.
    """
    if int(sizes.max()) >= _LARGEST_SIZE:
        return moments_of_few(norms.tolist(), sizes.tolist(), positions)
    mantissas, exponents = np.frexp(norms)  # ascending, so equal exponents stand together
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    least = int(exponents[np.searchsorted(norms, 0.0, side="right") :][0])
    mass = first = second = 0
    found: list[Moments] = []
    for start, stop in pairwise([0, *positions, len(norms)]):
        for block in _blocks(exponents, start, stop):
            shift = max(int(exponents[block.start]) - least, 0)  # a norm of 0 has no exponent
            s, a, b = _block_moments(integers[block], sizes[block])
            mass, first, second = mass + s, first + (a << shift), second + (b << 2 * shift)
        found.append((mass, first, second))
    return found


def _blocks(exponents: NDArray[np.int32], start: int, stop: int) -> Iterator[slice]:
    """Cut a range into blocks of one exponent each, none too long."""
    inner = np.flatnonzero(np.diff(exponents[start:stop])) + start + 1
    for low, high in pairwise([start, *inner.tolist(), stop]):
        for begin in range(low, high, _BLOCK):
            yield slice(begin, min(begin + _BLOCK, high))


def _block_moments(integers: NDArray[np.int64], sizes: NDArray[np.int64]) -> Moments:
    r"""Sum a block exactly in 64-bit pieces.

    With $m = h 2^{27} + l$, $\sum n m = 2^{27} \sum n h + \sum n l$, and each of the products
    of $m^2 = h^2 2^{54} + 2 h l 2^{27} + l^2$ is cut at 27 bits once more before it is summed:
    $2^{22} \cdot 2^{27} \cdot 2^{14} = 2^{63}$.
    """
    high, low = integers >> 27, integers & (2**27 - 1)

    def total(values: NDArray[np.int64]) -> int:
        return int(np.dot(sizes, values))

    def cut_total(products: NDArray[np.int64]) -> int:
        return (total(products >> 27) << 27) + total(products & (2**27 - 1))

    first = (total(high) << 27) + total(low)
    second = (cut_total(high * high) << 54) + (cut_total(high * low) << 28) + cut_total(low * low)
    return int(sizes.sum()), first, second
