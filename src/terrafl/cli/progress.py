"""Progress of runs and sweeps: bars on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import Progress, TaskID

from terrafl.cli.bars import OnItem, PlainProgress, bars, item_progress
from terrafl.experiments.run import OnRound
from terrafl.experiments.sweep import Cell, OnCell
from terrafl.simulation.features import OnImages

__all__ = ["OnItem", "bars", "cell_progress", "image_progress", "item_progress", "run_progress"]


@contextmanager
def run_progress(title: str, *, quiet: bool) -> Iterator[OnRound]:
    """Show the rounds of one run."""
    if quiet:
        yield lambda done, planned, accuracy: None
    elif not sys.stderr.isatty():
        plain = PlainProgress(title, "round")
        yield lambda done, planned, accuracy: plain(done, planned, _percent(accuracy))
    else:
        with bars() as display:
            task = display.add_task(title, total=None, note="starting", unit="round")

            def show(done: int, planned: int, accuracy: float | None) -> None:
                note = _percent(accuracy)
                display.update(task, completed=done, total=planned, note=note)

            yield show


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
    if quiet:
        yield lambda cell, done, planned, accuracy: None
    elif not sys.stderr.isatty():
        plain = {folder: PlainProgress(title, "round") for folder, title in titles.items()}

        def say(cell: Cell, done: int, planned: int, accuracy: float | None) -> None:
            plain[cell.folder](done, planned, _percent(accuracy))

        yield say
    else:
        with bars() as display:
            yield _CellBars(display, titles, sum(cell.config.rounds for cell in cells))


class _CellBars:
    def __init__(self, display: Progress, titles: Mapping[Path, str], rounds: int) -> None:
        self._display = display
        self._all = display.add_task("[bold]all runs", total=rounds, note="", unit="round")
        self._titles = titles
        self._tasks: dict[Path, TaskID] = {}
        self._done: dict[Path, int] = {}

    def __call__(self, cell: Cell, done: int, planned: int, accuracy: float | None) -> None:
        folder = cell.folder
        if folder not in self._tasks:
            self._tasks[folder] = self._display.add_task(
                self._titles[folder], total=planned, note="", unit="round"
            )
        self._done[folder] = done
        self._display.update(self._all, completed=sum(self._done.values()))
        finished = done == planned
        self._display.update(
            self._tasks[folder], completed=done, note=_percent(accuracy), visible=not finished
        )


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f"{accuracy:.1%}"
