"""All figures of a section, for papers and slides: the charts of the page by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from terrafl.reports.bands import average_curves
from terrafl.reports.curves import draw_curves
from terrafl.reports.heat_figure import heat_figure
from terrafl.reports.looks import COLOURS, DASHES, Pictures, new_figure, own_style
from terrafl.reports.sections import Section, Study
from terrafl.reports.tree_figure import tree_figure
from terrafl.runs import Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COSTS = {
    "client_updates": "Client updates",
    "samples_trained": "Samples trained",
    "bytes_down": "MB down",
    "bytes_up": "MB up",
}


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
    for of_method in section.studies:
        for study in of_method:
            steps = [step for step in study.trace.steps if step.split]
            if steps:
                most = max(step.iteration for step in steps)
                return study, max(step.round for step in steps if step.iteration == most)
    return None


def _cost_figure(section: Section) -> Figure:
    methods = section.group.methods
    figure = new_figure(10, 1.2 + 0.26 * len(methods))
    axes = figure.subplots(1, len(COSTS), sharey=True)
    colours = [COLOURS[style % len(COLOURS)] for style in section.styles]
    for panel, (name, title) in zip(axes, COSTS.items(), strict=True):
        scale = 1e-6 if title.startswith("MB") else 1
        amounts = [scale * getattr(method.costs, name) for method in methods]
        panel.barh(range(len(methods)), amounts, color=colours)
        panel.set_title(title, loc="left", fontsize=10)
        panel.ticklabel_format(axis="x", style="plain")
        panel.locator_params(axis="x", nbins=4)
    axes[0].set_yticks(range(len(methods)), [method.name for method in methods])
    axes[0].invert_yaxis()
    return figure


def _seconds_figure(section: Section) -> Figure:
    figure = new_figure(5.6, 4)
    axes = figure.subplots()
    metric, names = section.group.metric, []
    for method, style, studies in zip(
        section.group.methods, section.styles, section.studies, strict=True
    ):
        by_seconds = [_by_seconds(study) for study in studies]
        band = average_curves(by_seconds, "client_updates", metric.scale)
        if band is None:
            continue
        colour, dash = COLOURS[style % len(COLOURS)], DASHES[style % len(DASHES)]
        seconds = band.x / 1000
        axes.plot(seconds, band.mean, color=colour, linestyle=dash, label=str(style))
        names.append(method.name)
        low, high = band.mean - band.sd, band.mean + band.sd
        axes.fill_between(seconds, low, high, color=colour, alpha=0.18, linewidth=0)
    score = f"{metric.title}{metric.bracket}"
    axes.set(xlabel="Seconds of selection and training", ylabel=score, xlim=(0, None))
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.7)
    # Set afterwards: a label that starts with an underscore would be left out.
    for text, name in zip(axes.legend(frameon=False).get_texts(), names, strict=True):
        text.set_text(name)
    return figure


def _by_seconds(study: Study) -> list[Point]:
    """Return the curve with milliseconds instead of client updates."""
    pairs = zip(study.trace.points(), study.trace.seconds(), strict=False)
    return [point._replace(client_updates=round(1000 * seconds)) for point, seconds in pairs]


def _fairness_figure(section: Section) -> Figure:
    methods = section.group.methods
    counts = [
        [study.trace.participation() for study in studies if study.trace.federation.is_listed]
        for studies in section.studies
    ]
    most = max((max(one) for of_method in counts for one in of_method if one), default=1)
    wide = -(-(most + 1) // 24)
    bins = np.arange(0, most + 2 * wide, wide) - 0.5
    figure = new_figure(10, 2.3 * (-(-len(methods) // 3)))
    panels = figure.subplots(-(-len(methods) // 3), 3, sharex=True, sharey=True, squeeze=False)
    for panel in panels.flat[len(methods) :]:
        panel.set_axis_off()
    filled = zip(panels.flat, methods, counts, section.styles, section.fairness, strict=False)
    for panel, method, of_method, style, fair in filled:
        runs = max(1, len(of_method))
        times = np.concatenate([np.empty(0), *of_method])
        panel.hist(
            times, bins, weights=np.full(len(times), 1 / runs), color=COLOURS[style % len(COLOURS)]
        )
        shown = f"{method.name}, Gini {fair.gini.mean:.2f}" if fair.gini else method.name
        panel.set_title(shown, loc="left", fontsize=10)
    figure.supxlabel("Times trained", fontsize=9.5)
    figure.supylabel("Clients", fontsize=9.5)
    return figure
