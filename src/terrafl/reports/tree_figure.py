"""The selection tree of a round: clients by update norm, the split, and who trains again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from terrafl.reports.looks import FAINT, INK, new_figure
from terrafl.reports.names import method_name
from terrafl.reports.sections import Study
from terrafl.reports.trace import Step, Trace
from terrafl.runs.events import Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HARD, EASY, RANGE = "#D55E00", "#9db4c8", "#0072b2"
PITCH = 1.85
"""From the foot of one iteration to the next, in heights of the tallest bar."""


def tree_figure(study: Study, round_number: int) -> Figure:
    """Draw the iterations of a round below each other; ribbons connect the hard clients.

    A bar is a client: its width is its share of the cohort's data, its height its update norm.
    """
    trace = study.trace
    steps = [s for s in trace.steps if s.round == round_number and s.split is not None]
    figure = new_figure(10, 0.5 + 1.7 * len(steps))
    axes = figure.subplots()
    known = (value for step in steps for value in step.values if value is not None)
    most = max(known, default=0.0) or 1.0
    for row, step in enumerate(steps):
        _draw_step(axes, trace, step, most, -PITCH * row)
    for row, (upper, lower) in enumerate(pairwise(steps)):
        _draw_flow(axes, trace, (upper, lower), -PITCH * row)
    axes.set(xlim=(-0.01, 1.01), ylim=(-PITCH * (len(steps) - 1) - 0.2, 1.3))
    axes.set_axis_off()
    summary = study.run.summary
    name = method_name(summary.selector, summary.variant)
    title = f"{name}, seed {summary.seed}, round {round_number + 1}"
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    return figure


def edges_of(trace: Trace, step: Step) -> NDArray[np.float64]:
    """Return where bars begin and end: running shares of the cohort's data, from 0 to 1."""
    known = [trace.federation.size(client) for client in step.clients]
    sizes = [1 if size is None else size for size in known]
    if not any(sizes):
        sizes = [1] * len(sizes)
    return np.concatenate([[0.0], np.cumsum(sizes) / np.sum(sizes)])


def _draw_step(axes: Axes, trace: Trace, step: Step, most: float, foot: float) -> None:
    split, edges = step.split, edges_of(trace, step)
    assert split is not None
    heights = np.array([(value or 0.0) / most for value in step.values])
    colours = [HARD if rank >= split.tau else EASY for rank in range(len(heights))]
    axes.fill_between(edges[[split.k_q1, split.k_q3]], foot, foot + 1.04, color=RANGE, alpha=0.08)
    axes.bar(
        edges[:-1], heights, np.diff(edges), foot, align="edge", color=colours, edgecolor="white"
    )
    for client, left, right in zip(step.clients, edges[:-1], edges[1:], strict=True):
        where = ((left + right) / 2, foot - 0.03)
        axes.text(*where, trace.federation.ids[client], ha="center", va="top", fontsize=7)
    words = f"iteration {step.iteration + 1}\n{split.measure.replace('_', ' ')} up to {most:.3g}"
    axes.text(-0.012, foot + 0.5, words, rotation=90, ha="right", va="center", fontsize=7.5)
    _mark(axes, split, edges, foot)


def _mark(axes: Axes, split: Split, edges: NDArray[np.float64], foot: float) -> None:
    cut = edges[split.tau]
    shared = ["split"]
    for name, position in (("Q3", split.k_q3), ("Q1", split.k_q1)):
        x = edges[position]
        axes.vlines(x, foot, foot + 1.04, color=FAINT, linestyle=(0, (3, 3)), linewidth=1)
        if abs(x - cut) < 0.03:
            shared.insert(0, name)
        else:
            axes.text(x, foot + 1.07, name, color=FAINT, ha="center", fontsize=8)
    axes.vlines(cut, foot, foot + 1.04, color=INK, linewidth=2)
    words = ", ".join(shared)
    axes.text(cut, foot + 1.07, words, ha="center", fontsize=8, fontweight="bold")


def _draw_flow(axes: Axes, trace: Trace, steps: tuple[Step, Step], foot: float) -> None:
    step, following = steps
    assert step.split is not None
    places = {client: rank for rank, client in enumerate(following.clients)}
    start, end = edges_of(trace, step), edges_of(trace, following)
    way = np.linspace(0, 1, 40)
    heights = foot - 0.2 - (PITCH - 1.42) * way
    bend = way * way * (3 - 2 * way)  # leaves and arrives vertically
    for rank, client in enumerate(step.clients):
        if rank < step.split.tau or client not in places:
            continue
        to = places[client]
        left = start[rank] + (end[to] - start[rank]) * bend
        right = start[rank + 1] + (end[to + 1] - start[rank + 1]) * bend
        axes.fill_betweenx(heights, left, right, facecolor=HARD, edgecolor="white", alpha=0.25)
