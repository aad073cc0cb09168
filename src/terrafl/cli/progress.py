"""Progress that a person can follow: bars on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from terrafl.engine.features import OnImages
from terrafl.experiments.run import OnRound
from terrafl.experiments.sweep import Cell, OnCell

__all__ = ["bars", "cell_progress", "image_progress", "run_progress"]

PLAIN_EVERY_S = 10.0


def bars() -> Progress:
    """Return a progress display with time left."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
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
        yield _Plain(title)
    else:
        with bars() as display:
            task = display.add_task(title, total=None, note="starting")

            def show(done: int, planned: int, accuracy: float | None) -> None:
                note = _percent(accuracy)
                display.update(task, completed=done, total=planned, note=note)

            yield show


@contextmanager
def image_progress(*, quiet: bool) -> Iterator[OnImages]:
    """Show the images whose features are computed; nothing, where none are."""
    with ExitStack() as stack:
        displays: list[tuple[Progress, TaskID]] = []
        said = [time.monotonic()]

        def show(done: int, total: int) -> None:
            if quiet:
                return
            if not sys.stderr.isatty():
                if done == total or time.monotonic() - said[0] >= PLAIN_EVERY_S:
                    said[0] = time.monotonic()
                    sys.stderr.write(f"features: {done:,} of {total:,} images\n")
                    sys.stderr.flush()
                return
            if not displays:
                display = stack.enter_context(bars())
                displays.append((display, display.add_task("features", total=total, note="")))
            display, task = displays[0]
            display.update(task, completed=done, total=total)

        yield show


@contextmanager
def cell_progress(num_cells: int, *, quiet: bool) -> Iterator[OnCell]:
    """Show the runs of a sweep: one bar for all, one for each under way."""
    if quiet:
        yield lambda cell, done, planned, accuracy: None
    elif not sys.stderr.isatty():
        plain: dict[str, _Plain] = {}

        def say(cell: Cell, done: int, planned: int, accuracy: float | None) -> None:
            plain.setdefault(cell.folder.name, _Plain(cell.folder.name))(done, planned, accuracy)

        yield say
    else:
        with bars() as display:
            yield _CellBars(display, num_cells)


class _CellBars:
    def __init__(self, display: Progress, num_cells: int) -> None:
        self._display = display
        self._all = display.add_task("[bold]all runs", total=None, note="")
        self._num_cells = num_cells
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}

    def __call__(self, cell: Cell, done: int, planned: int, accuracy: float | None) -> None:
        name = cell.folder.name
        if name not in self._tasks:
            self._tasks[name] = self._display.add_task(name, total=planned, note="")
        self._done[name] = done
        self._display.update(
            self._all, completed=sum(self._done.values()), total=planned * self._num_cells
        )
        finished = done == planned
        self._display.update(
            self._tasks[name], completed=done, note=_percent(accuracy), visible=not finished
        )


class _Plain:
    """A line now and then, for logs."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._last = time.monotonic()

    def __call__(self, done: int, planned: int, accuracy: float | None) -> None:
        now = time.monotonic()
        if done == planned or now - self._last >= PLAIN_EVERY_S:
            self._last = now
            line = f"{self._title}: round {done} of {planned} {_percent(accuracy)}"
            sys.stderr.write(line.rstrip() + "\n")
            sys.stderr.flush()


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f"{accuracy:.1%}"
