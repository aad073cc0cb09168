"""Clients x rounds, one panel per method: how often clients trained, and their update norms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.reports.looks import new_grid
from terrafl.reports.sections import Section
from terrafl.reports.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CELLS = 400
"""Clients, or rounds, beyond which neighbours share a cell."""

What = Literal["participation", "norm"]


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
