"""Runs as the page reads them: short names, columns, rounded to the visible digits."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from terrafl.reports.trace import Clients, Step
from terrafl.runs import Point

__all__ = ["MOST_PACKED", "curve_columns", "federation_columns", "pack", "step_columns"]

Plain = dict[str, Any]  # Any: what JSON can hold

MOST_PACKED = 2_300_000
"""Bytes of data in a page that must stay below 3 MB with everything else."""
MOST_POINTS = 800
"""Evaluations of a run that a page keeps; more cannot be distinguished on a screen."""


def curve_columns(
    points: Sequence[Point], seconds: Sequence[float], *, start: int = 0, thin: bool = False
) -> Plain:
    """Return the evaluations from ``start`` on, column by column; seconds may be unknown."""
    chosen = range(start, len(points))
    if thin and len(chosen) > MOST_POINTS:
        step = -(-len(chosen) // MOST_POINTS)
        chosen = range(chosen[-1] % step, len(points), step)  # the last one is kept
    kept = [points[i] for i in chosen]
    return {
        "round": [point.round for point in kept],
        "updates": [point.client_updates for point in kept],
        "samples": [point.samples for point in kept],
        "accuracy": [round(100 * point.accuracy, 3) for point in kept],
        "seconds": [round(seconds[i], 3) for i in chosen] if seconds else [],
    }


def step_columns(steps: Iterable[Step]) -> Plain:
    """Return iterations column by column; ``client`` and ``value`` hold all of them in a row."""
    steps = list(steps)
    splits = [step.split for step in steps]
    return {
        "round": [step.round for step in steps],
        "iteration": [step.iteration for step in steps],
        "size": [len(step.clients) for step in steps],
        "client": [client for step in steps for client in step.clients],
        "value": [_short(value) for step in steps for value in step.values],
        "q1": [split.k_q1 if split else 0 for split in splits],
        "q3": [split.k_q3 if split else 0 for split in splits],
        "tau": [split.tau if split else 0 for split in splits],
    }


def federation_columns(federation: Clients) -> Plain:
    """Return the clients column by column."""
    return {
        "ids": federation.ids,
        "sizes": federation.sizes,
        "distances": federation.distances,
        "labels": federation.labels,
        "listed": federation.is_listed,
    }


def pack(plain: Plain) -> str:
    """Compress data for a page; the browser's DecompressionStream unpacks it."""
    text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    return b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
