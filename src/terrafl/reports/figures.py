"""All figures of a section, for papers and slides: the charts of the page by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.reports.curves import Curve, add_legend, average_curves, draw_bands, draw_curves
from terrafl.reports.looks import FAINT, INK, Pictures, colour, new_figure, new_grid, own_style
from terrafl.reports.names import method_name
from terrafl.reports.sections import Section, Study
from terrafl.reports.trace import Step, Trace
from terrafl.runs.events import Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COSTS = {
    "client_updates": "Client updates",
    "samples_trained": "Samples trained",
    "bytes_down": "MB down",
    "bytes_up": "MB up",
}

MOST_CELLS = 400
"""Clients, or rounds, beyond which neighbours share a cell."""

What = Literal["participation", "norm"]

HARD, EASY, RANGE = "#D55E00", "#9db4c8", "#0072b2"
PITCH = 1.85
"""From the foot of one iteration to the next, in heights of the tallest bar."""


def draw_figures(section: Section) -> dict[str, Pictures]:
    """Draw a section, by name of figure; figures without data are left out.

    ``curves`` and ``cost`` need summaries only. ``seconds`` needs timings; ``selection``, the
    tree of a round of the first run that splits, ``participation``, ``norms`` and ``fairness``
    need journals.
    """
    pictures = {"curves": draw_curves(section.group)}
    with own_style():
        pictures["cost"] = Pictures.of(_cost_figure(section))
        if any(seconds is not None for seconds in section.seconds):
            pictures["seconds"] = Pictures.of(_seconds_figure(section))
        if section.has_journals:
            pictures["participation"] = Pictures.of(heat_figure(section, "participation"))
            pictures["norms"] = Pictures.of(heat_figure(section, "norm"))
        if any(fair.gini for fair in section.fairness):
            pictures["fairness"] = Pictures.of(_fairness_figure(section))
        split = _first_split(section)
        if split is not None:
            pictures["selection"] = Pictures.of(tree_figure(*split))
    return pictures


def _first_split(section: Section) -> tuple[Study, int] | None:
    """Return a run that splits, and its last round of most iterations."""
    for study in section.every_study:
        steps = [step for step in study.trace.steps if step.split]
        if steps:
            return study, max(steps, key=lambda step: (step.iteration, step.round)).round
    return None


def _cost_figure(section: Section) -> Figure:
    methods = section.group.methods
    figure = new_figure(10, 1.2 + 0.26 * len(methods))
    axes = figure.subplots(1, len(COSTS), sharey=True)
    colours = [colour(style) for style in section.group.styles]
    for panel, (name, title) in zip(axes, COSTS.items(), strict=True):
        scale = 1e-6 if title.startswith("MB") else 1
        amounts = [scale * getattr(method.costs, name) for method in methods]
        panel.barh(range(len(methods)), amounts, color=colours)
        panel.set_title(title)
        panel.ticklabel_format(axis="x", style="plain")
        panel.locator_params(axis="x", nbins=4)
    axes[0].set_yticks(range(len(methods)), [method.name for method in methods])
    axes[0].invert_yaxis()
    return figure


def draw_bars(values: Mapping[str, float], title: str) -> Pictures:
    """Draw one bar per name, labelled with its value."""
    with own_style():
        figure = new_figure(7, 0.9 + 0.4 * len(values))
        axes = figure.subplots()
        bars = axes.barh(list(values), list(values.values()), color=colour(4), height=0.6)
        axes.bar_label(bars, fmt="{:,.0f}", padding=3)
        axes.invert_yaxis()  # the first on top
        axes.set_title(title)
        return Pictures.of(figure)


def _seconds_figure(section: Section) -> Figure:
    figure = new_figure(5.6, 4.2)
    axes = figure.subplots()
    metric = section.group.metric
    bands = [
        average_curves([_by_seconds(study.trace, metric.scale) for study in studies])
        for studies in section.studies
    ]
    lines = draw_bands(axes, section.group, bands)
    score = f"{metric.title}{metric.bracket}"
    axes.set(xlabel="Seconds of selection and training", ylabel=score)
    add_legend(figure, lines, section.group)
    return figure


def _by_seconds(trace: Trace, scale: int) -> Curve:
    scores = [scale * evaluation.accuracy for evaluation in trace.evaluations]
    return list(zip(trace.seconds(), scores, strict=False))


def _fairness_figure(section: Section) -> Figure:
    methods = section.group.methods
    counts = [
        [study.trace.participation() for study in studies if study.trace.federation.listed]
        for studies in section.studies
    ]
    most = max((max(one) for of_method in counts for one in of_method if one), default=1)
    wide = -(-(most + 1) // 24)
    bins = (np.arange(0, most + 2 * wide, wide) - 0.5).tolist()
    figure, panels = new_grid(len(methods), 2.3, share=True)
    columns = (panels, methods, counts, section.group.styles, section.fairness)
    for panel, method, of_method, style, fair in zip(*columns, strict=True):
        runs = max(1, len(of_method))
        times = np.concatenate([np.empty(0), *of_method])
        panel.hist(times, bins, weights=np.full(len(times), 1 / runs), color=colour(style))
        shown = f"{method.name}, Gini {fair.gini.mean:.2f}" if fair.gini else method.name
        panel.set_title(shown)
    figure.supxlabel("Times trained")
    figure.supylabel("Clients")
    return figure


def heat_map(trace: Trace, what: What) -> NDArray[np.float64]:
    """Return one number per client and round, the largest client first.

    How often the client trained in the round, or the mean of its update norms in it; NaN where
    it did not train, or its norm is not known.
    """
    sizes = [trace.federation.size(client) or 0 for client in range(len(trace.federation.ids))]
    order = np.argsort(-np.asarray(sizes), kind="stable")
    rounds = trace.steps[-1].round + 1
    lines, columns = min(len(order), MOST_CELLS), min(rounds, MOST_CELLS)
    line_of = np.empty(len(order), dtype=np.int64)
    line_of[order] = np.arange(len(order)) * lines // len(order)
    counts, sums = np.zeros((lines, columns)), np.zeros((lines, columns))
    for step in trace.steps:
        column = step.round * columns // rounds
        values = np.array([np.nan if v is None else v for v in step.values])
        known = np.isfinite(values) if what == "norm" else np.full(len(values), True)
        places = line_of[np.asarray(step.clients)[known]]
        counts[:, column] += np.bincount(places, minlength=lines)
        sums[:, column] += np.bincount(places, values[known], minlength=lines)
    shown = counts if what == "participation" else sums / np.maximum(counts, 1)
    return np.where(counts > 0, shown, np.nan)


def heat_figure(section: Section, what: What) -> Figure:
    """Draw the first run with a journal of every method."""
    titled = [
        (f"{method.name}, seed {study.run.summary.seed}", study.trace)
        for method, studies in zip(section.group.methods, section.studies, strict=True)
        for study in [s for s in studies if s.trace.steps][:1]
    ]
    maps = [heat_map(trace, what) for _, trace in titled]
    known = np.concatenate([values[np.isfinite(values)] for values in maps])
    most = float(known.max(initial=0.0)) or 1.0
    figure, panels = new_grid(len(titled), 2.8)
    for panel, (title, trace), values in zip(panels, titled, maps, strict=True):
        image = panel.imshow(
            values,
            aspect="auto",
            interpolation="nearest",
            cmap="Blues",
            vmin=-0.4 * most,  # the faintest cell is still seen on white
            vmax=most,
            extent=(0.5, trace.steps[-1].round + 1.5, len(trace.federation.ids), 0),
        )
        panel.set_title(title)
    label = "Times trained" if what == "participation" else "Mean update norm"
    bar = figure.colorbar(image, ax=figure.axes, label=label, shrink=0.8)
    bar.ax.set_ylim(0, most)
    figure.supxlabel("Rounds")
    figure.supylabel("Clients, largest first")
    return figure


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
