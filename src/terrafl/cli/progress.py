"""Progress of runs, of sweeps, and of the slow first-time work before them, on stderr."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from terrafl.cli.bars import item_progress
from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import OnRound
from terrafl.experiments.sweep import Cell, OnCell
from terrafl.experiments.warm_up import compute_features, read_data
from terrafl.reports.formats import metric_named


@contextmanager
def run_progress(title: str, metric: str, *, quiet: bool) -> Iterator[OnRound]:
    """Show the rounds of one run."""
    with item_progress("round", quiet=quiet) as show:
        if sys.stderr.isatty():
            show(title, 0, None, "starting")
        yield lambda done, planned, score: show(title, done, planned, _note(metric, score))


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


def prepare(configs: Sequence[RunConfig], *, workers: int, quiet: bool) -> None:
    """Read slow data sets and compute the features that these runs need and no cache holds."""
    with item_progress("example", quiet=quiet) as on_data:
        read_data(configs, progress=on_data)
    with item_progress("image", quiet=quiet) as show:
        compute_features(
            configs, workers=workers, on_images=lambda done, total: show("features", done, total)
        )


def _note(metric: str, score: float | None) -> str:
    return "" if score is None else metric_named(metric).in_short(score)
