"""The mean and the standard deviation of the curves of several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.runs import Point

MOST_POINTS = 240
"""More points change the size of a picture, but not what it shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A curve over seeds: positions, mean score and standard deviation."""

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


def average_curves(
    curves: Sequence[Sequence[Point]],
    against: Literal["round", "client_updates"],
    scale: int = 100,
) -> Band | None:
    """Average curves over the range that all of them cover.

    Each curve is read by linear interpolation at every position where any of them was
    evaluated (or at 240 even steps, if those are more). Where all were evaluated at the same
    positions, as after every round, nothing is interpolated.

    Parameters
    ----------
    curves
        The evaluations of one run each; runs without any are left out.
    against
        What the positions count.
    scale
        What scores are multiplied with; 100 gives percent.

    Returns
    -------
    Band or None
        ``None`` if the curves have no position in common. The standard deviation of a single
        curve is 0.
    """
    known = [_xy(curve, against, scale) for curve in curves if curve]
    if not known:
        return None
    start = max(x[0] for x, _ in known)
    end = min(x[-1] for x, _ in known)
    if start > end:
        return None
    grid = np.unique(np.concatenate([x for x, _ in known]))
    grid = grid[(start <= grid) & (grid <= end)]
    if len(grid) > MOST_POINTS:
        grid = np.linspace(start, end, MOST_POINTS)
    scores = np.stack([np.interp(grid, x, y) for x, y in known])  # (seeds, positions)
    sd = scores.std(axis=0, ddof=1) if len(known) > 1 else np.zeros_like(grid)
    return Band(grid, scores.mean(axis=0), sd)


def _xy(
    curve: Sequence[Point], against: Literal["round", "client_updates"], scale: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # A round without training does not change the position: the later value counts.
    last = {float(getattr(point, against)): scale * point.accuracy for point in curve}
    return np.array(list(last)), np.array(list(last.values()))
