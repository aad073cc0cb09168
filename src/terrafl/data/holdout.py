"""Hold out a part of every owner's examples for testing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require

__all__ = ["hold_out", "hold_out_runs"]


def hold_out(
    owner: NDArray[np.generic], fraction: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    r"""Return which examples are held out, drawn anew for every owner.

    Of an owner's $n \ge 2$ examples, $\max(1, \lfloor f n + 1/2 \rfloor)$ are; of a single
    one, none.

    Parameters
    ----------
    owner
        Who holds each example.
    fraction
        Share to hold out, $f \in (0, 1/2]$.
    generator
        Draws which.

    Examples
    --------
    >>> writer = np.array(["a"] * 20 + ["b"] * 3 + ["c"])
    >>> held = hold_out(writer, 0.1, np.random.default_rng(0))
    >>> [int(held[writer == name].sum()) for name in "abc"]
    [2, 1, 0]
    """
    require(0 < fraction <= 0.5, "fraction", fraction, "above 0 and at most 0.5")
    _, number, sizes = np.unique(owner, return_inverse=True, return_counts=True)
    wanted = np.maximum(1, np.floor(fraction * sizes + 0.5).astype(np.int64))
    wanted[sizes < 2] = 0
    shuffled = generator.permutation(len(owner))
    by_owner = shuffled[np.argsort(number[shuffled], kind="stable")]
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    held = np.zeros(len(owner), dtype=np.bool_)
    held[by_owner[rank < np.repeat(wanted, sizes)]] = True
    return held


def hold_out_runs(
    owner: NDArray[np.generic],
    run: NDArray[np.generic],
    fraction: float,
    generator: np.random.Generator,
) -> NDArray[np.bool_]:
    r"""Return which examples are held out, whole runs of neighbouring ones at a time.

    An owner's runs are put in random order, and as many first ones are held out as come
    nearest to the fraction: at least one, and never all. An owner of a single run keeps it.

    Parameters
    ----------
    owner
        Who holds each example.
    run
        The run that each example belongs to; a run has one owner.
    fraction
        Share to hold out, $f \in (0, 1/2]$.
    generator
        Draws the order.
    """
    require(0 < fraction <= 0.5, "fraction", fraction, "above 0 and at most 0.5")
    held = np.zeros(len(owner), dtype=np.bool_)
    for name in np.unique(owner):
        own = np.flatnonzero(owner == name)
        runs, sizes = np.unique(run[own], return_counts=True)
        if len(runs) < 2:
            continue
        order = generator.permutation(len(runs))
        taken = np.cumsum(sizes[order])[:-1]  # never all
        number = 1 + int(np.abs(taken - fraction * len(own)).argmin())
        held[own[np.isin(run[own], runs[order[:number]])]] = True
    return held
