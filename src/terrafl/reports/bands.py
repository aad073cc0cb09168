"""The mean and the standard deviation of the curves of several seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Curve = Sequence[tuple[float, float]]
"""The evaluations of one run: position and score."""

MOST_POINTS = 240
"""More points change the size of a picture, but not what it shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A curve over seeds: positions, mean score and standard deviation."""

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


def average_curves(curves: Sequence[Curve]) -> Band | None:
    """Average curves over the range that all of them cover.

    Each curve is read by linear interpolation at every position where any of them was
    evaluated (or at 240 even steps, if those are more). Where all were evaluated at the same
    positions, as after every round, nothing is interpolated.

    Parameters
    ----------
    curves
        One per run, in order of position; empty ones are left out. Of several scores at one
        position, as after a round without training, the last one counts.

    Returns
    -------
    Band or None
        ``None`` if the curves have no position in common. The standard deviation of a single
        curve is 0.
    """
    known = [(np.array([*last]), np.array([*last.values()])) for last in map(dict, curves) if last]
    if not known:
        return None
    start = max(x[0] for x, _ in known)
    end = min(x[-1] for x, _ in known)
    if start > end:
        return None
    grid = np.unique(np.concatenate([x for x, _ in known])).astype(np.float64)
    grid = grid[(start <= grid) & (grid <= end)]
    if len(grid) > MOST_POINTS:
        grid = np.linspace(start, end, MOST_POINTS)
    scores = np.stack([np.interp(grid, x, y) for x, y in known])  # (seeds, positions)
    sd = scores.std(axis=0, ddof=1) if len(known) > 1 else np.zeros_like(grid)
    return Band(grid, scores.mean(axis=0), sd)
