"""Progress on standard error: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from terrafl.cli.rates import Unit, amount, rate, time_left
from terrafl.experiments.run import OnRound
from terrafl.experiments.sweep import Cell, OnCell
from terrafl.simulation.features import OnImages

__all__ = ["OnItem", "bars", "cell_progress", "image_progress", "item_progress", "run_progress"]

PLAIN_EVERY_S = 10.0

OnItem = Callable[[str, int, int | None], None]
"""Called with a name, the amount done, and the total amount if it is known."""


class _Amount(ProgressColumn):
    def render(self, task: Task) -> Text:
        total = None if task.total is None else int(task.total)
        return Text(amount(int(task.completed), total, task.fields["unit"]))


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(rate(task.finished_speed or task.speed, task.fields["unit"]))


def bars() -> Progress:
    """Return a progress display with rates and remaining time; tasks need a unit and a note."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        _Amount(),
        TextColumn("{task.fields[note]}"),
        _Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def run_progress(title: str, *, quiet: bool) -> Iterator[OnRound]:
    """Show the rounds of one run."""
    if quiet:
        yield lambda done, planned, accuracy: None
    elif not sys.stderr.isatty():
        plain = _Plain(title, "round")
        yield lambda done, planned, accuracy: plain(done, planned, _percent(accuracy))
    else:
        with bars() as display:
            task = display.add_task(title, total=None, note="starting", unit="round")

            def show(done: int, planned: int, accuracy: float | None) -> None:
                note = _percent(accuracy)
                display.update(task, completed=done, total=planned, note=note)

            yield show


@contextmanager
def item_progress(unit: Unit, *, quiet: bool) -> Iterator[OnItem]:
    """Show one bar per item that is read, fetched or computed; show nothing without items."""
    with ExitStack() as stack:
        displays: list[Progress] = []
        tasks: dict[str, TaskID] = {}
        plain: dict[str, _Plain] = {}

        def show(name: str, done: int, total: int | None) -> None:
            if quiet:
                return
            if not sys.stderr.isatty():
                plain.setdefault(name, _Plain(name, unit))(done, total)
                return
            if not displays:
                displays.append(stack.enter_context(bars()))
            if name not in tasks:
                tasks[name] = displays[0].add_task(name, total=total, note="", unit=unit)
            displays[0].update(tasks[name], completed=done, total=total)

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
        plain = {folder: _Plain(title, "round") for folder, title in titles.items()}

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


class _Plain:
    """One line every ten seconds, for logs."""

    def __init__(self, title: str, unit: Unit) -> None:
        self._title = title
        self._unit: Unit = unit
        self._last = self._began = time.monotonic()
        self._first: int | None = None  # a resumed run starts in the middle

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done, now
        if done == total or now - self._last >= PLAIN_EVERY_S:
            self._last = now
            passed = now - self._began
            speed = (done - self._first) / passed if passed >= 2 else None
            parts = [
                f"{self._title}: {amount(done, total, self._unit)}",
                note,
                rate(speed, self._unit),
                time_left(done, total, speed),
            ]
            sys.stderr.write(" ".join(filter(None, parts)) + "\n")
            sys.stderr.flush()


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f"{accuracy:.1%}"
