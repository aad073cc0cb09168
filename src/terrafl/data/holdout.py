"""Hold out a share of every owner's examples for testing."""

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require


def hold_out(
    owner: NDArray[np.generic], fraction: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    r"""Return which examples are held out, drawn separately for every owner.

    Of an owner's $n \ge 2$ examples, $\max(1, \lfloor f n + 1/2 \rfloor)$ are held out; a single
    example is not.

    Parameters
    ----------
    owner
        The owner of each example.
    fraction
        Share to hold out, $f \in (0, 1/2]$.
    generator
        Draws the examples.

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
    r"""Return which examples are held out, in whole runs of neighbouring examples.

    An owner's runs are put in random order. The first ones are held out, as many as come closest
    to the fraction: at least one and never all. The only run of an owner is not held out.

    Parameters
    ----------
    owner
        The owner of each example.
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
        rows = np.flatnonzero(owner == name)
        runs, sizes = np.unique(run[rows], return_counts=True)
        if len(runs) < 2:
            continue
        order = generator.permutation(len(runs))
        taken = np.cumsum(sizes[order])[:-1]  # never all
        number = 1 + int(np.abs(taken - fraction * len(rows)).argmin())
        held[rows[np.isin(run[rows], runs[order[:number]])]] = True
    return held
