"""The curves of a group, against rounds and against client updates: mean and band over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require
from terrafl.reports.comparison import Group, compare_runs
from terrafl.reports.looks import FAINT, UNSAID, Pictures, line_look, new_figure, own_style, save
from terrafl.reports.names import SELECTORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

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


def draw_curves(group: Group) -> Pictures:
    """Draw the mean score over seeds, with a band of one standard deviation, for every method.

    The left panel counts rounds, the right one client updates with the budget $B$ marked. Both
    share the vertical axis, which is cut to the range of the data.
    """
    with own_style():
        return Pictures.of(_figure([group]))


def plot_runs(runs: Sequence[Path], path: Path | str | None = None) -> Figure:
    """Draw the curves of finished runs, one pair of panels per problem and algorithm.

    Parameters
    ----------
    runs
        Run folders, or folders that contain some at any depth.
    path
        Where to save the figure, in the format of its ending; not at all if left out.
    """
    kind = None if path is None else Path(path).suffix.removeprefix(".")
    require(kind is None or kind in UNSAID, "path", path, "a name that ends in .svg, .png or .pdf")
    comparison = compare_runs(runs)
    with own_style():
        figure = _figure(comparison.groups)
        if path is not None and kind is not None:
            Path(path).write_bytes(save(figure, kind))
        return figure


def _figure(groups: Sequence[Group]) -> Figure:
    # The panels keep their size, however many methods the legend must name.
    heights = [4.0 + 0.2 * math.ceil(len(g.methods) / _legend_columns(g)) for g in groups]
    figure = new_figure(10, sum(heights))
    parts = figure.subfigures(len(groups), 1, squeeze=False, height_ratios=heights)
    for part, group in zip(parts.flat, groups, strict=True):
        _fill(part, group)
    return figure


def _fill(part: SubFigure, group: Group) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    by_round, by_updates = part.subplots(1, 2, sharey=True)
    lines = draw_bands(by_round, group, _bands(group, "round"))
    draw_bands(by_updates, group, _bands(group, "client_updates"))
    for axes in (by_round, by_updates):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    score = f"{group.metric.title} on the pooled test set{group.metric.bracket}"
    by_round.set(xlabel="Rounds", ylabel=score)
    by_updates.set(xlabel="Client updates")
    by_updates.tick_params(labelleft=True)
    by_round.set_title("Per round, as papers report")
    by_updates.set_title("Per client update, as a budget counts")
    _mark_budget(by_updates, group.budget)
    part.suptitle(_title(group), x=0.01, ha="left", fontsize=11, fontweight="bold")
    add_legend(part, lines, group)


def _bands(group: Group, against: Literal["round", "client_updates"]) -> list[Band | None]:
    scale = group.metric.scale
    by_method = [[run.summary.curve for run in method.runs] for method in group.methods]
    return [
        average_curves([[(getattr(p, against), scale * p.accuracy) for p in curve] for curve in of])
        for of in by_method
    ]


def draw_bands(axes: Axes, group: Group, bands: Sequence[Band | None]) -> list[Line2D]:
    """Draw the mean of every method, with a band of one standard deviation."""
    lines: list[Line2D] = []
    for method, style, band in zip(group.methods, group.styles, bands, strict=True):
        (line,) = axes.plot(
            band.x if band else [],
            band.mean if band else [],
            **line_look(style),
            markersize=4.5,
            markevery=(0.015 * len(lines), 0.12),  # staggered, so that close curves stay readable
            linewidth=2.2 if method.name == SELECTORS["terraform"] else 1.5,
        )
        lines.append(line)
        if band and band.sd.any():
            low, high = band.mean - band.sd, band.mean + band.sd
            axes.fill_between(band.x, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlim(left=0)
    return lines


def _mark_budget(axes: Axes, budget: int) -> None:
    axes.axvline(budget, color=FAINT, linewidth=1, linestyle=(0, (3, 3)), zorder=0)
    low, high = axes.get_xlim()
    left = budget > (low + high) / 2
    axes.annotate(
        f"B = {budget:,}",
        (budget, 0.02),
        xycoords=axes.get_xaxis_transform(),
        xytext=(-4 if left else 4, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        color="#666666",
    )


def _title(group: Group) -> str:
    seeds = sorted({len(method.seeds) for method in group.methods})
    over = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else f"{seeds[0]} seeds"
    scatter = "one seed" if seeds == [1] else f"mean ± 1 sd over {over}"
    return f"{group.title}: {scatter}"


def _legend_columns(group: Group) -> int:
    longest = max(len(method.name) for method in group.methods)
    return max(1, min(len(group.methods), 130 // (longest + 8)))


def add_legend(part: Figure | SubFigure, lines: Sequence[Line2D], group: Group) -> None:
    """Name the methods below a figure."""
    columns = _legend_columns(group)
    # Filled column by column, but read row by row.
    order = [i for column in range(columns) for i in range(column, len(lines), columns)]
    legend = part.legend(
        [lines[i] for i in order],
        [str(i) for i in order],
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=3,
    )
    # Set afterwards: a label that starts with an underscore would be left out.
    for text, i in zip(legend.get_texts(), order, strict=True):
        text.set_text(group.methods[i].name)
