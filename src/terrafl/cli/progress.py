"""Progress of runs and sweeps: bars on a terminal, plain lines elsewhere, on stderr."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from terrafl.cli.bars import item_progress
from terrafl.experiments.run import OnRound
from terrafl.experiments.sweep import Cell, OnCell
from terrafl.reports.formats import metric_named
from terrafl.simulation.features import OnImages


@contextmanager
def run_progress(title: str, metric: str, *, quiet: bool) -> Iterator[OnRound]:
    """Show the rounds of one run."""
    with item_progress("round", quiet=quiet) as show:
        if sys.stderr.isatty():
            show(title, 0, None, "starting")
        yield lambda done, planned, score: show(title, done, planned, _note(metric, score))


@contextmanager
def image_progress(*, quiet: bool) -> Iterator[OnImages]:
    """Show progress on images while their features are computed; show nothing without images."""
    with item_progress("image", quiet=quiet) as show:
        yield lambda done, total: show("features", done, total)


@contextmanager
def cell_progress(cells: Sequence[Cell], *, quiet: bool) -> Iterator[OnCell]:
    """Show the runs of a sweep: one bar for all runs, one for each active run.

    The title of a run is the part of its folder that differs from the other runs.
    """
    shared = os.path.commonpath([cell.folder.parent for cell in cells]) if cells else ""
    titles = {cell.folder: os.path.relpath(cell.folder, shared) for cell in cells}
    rounds, done_in = sum(cell.config.rounds for cell in cells), dict.fromkeys(titles, 0)
    with item_progress("round", quiet=quiet, hide_finished=True) as show:

        def show_all() -> None:
            if sys.stderr.isatty():
                show("[bold]all runs", sum(done_in.values()), rounds)

        def on_round(cell: Cell, done: int, planned: int, score: float | None) -> None:
            done_in[cell.folder] = done
            show_all()
            note = _note(cell.config.task.metric, score)
            show(titles[cell.folder], done, planned, note)

        show_all()
        yield on_round


def _note(metric: str, score: float | None) -> str:
    return "" if score is None else metric_named(metric).in_short(score)
