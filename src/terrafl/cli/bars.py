"""Progress bars on a terminal, plain lines elsewhere, on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

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

PLAIN_EVERY_S = 10.0


class OnItem(Protocol):
    """Called with a name, how much of it is done, and how much there is where that is known."""

    def __call__(self, name: str, done: int, total: int | None, note: str = "", /) -> None:
        """Show it."""


class _Amount(ProgressColumn):
    def render(self, task: Task) -> Text:
        total = None if task.total is None else int(task.total)
        return Text(amount(int(task.completed), total, task.fields["unit"]))


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(rate(task.finished_speed or task.speed, task.fields["unit"]))


def bars() -> Progress:
    """Return a progress display with rates and time left; tasks need a unit and a note."""
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
def item_progress(unit: Unit, *, quiet: bool, hide_finished: bool = False) -> Iterator[OnItem]:
    """Show one bar per thing that is read, fetched or computed; nothing, where nothing is."""
    with ExitStack() as stack:
        displays: list[Progress] = []
        tasks: dict[str, TaskID] = {}
        plain: dict[str, PlainProgress] = {}

        def show(name: str, done: int, total: int | None, note: str = "", /) -> None:
            if quiet:
                return
            if not sys.stderr.isatty():
                plain.setdefault(name, PlainProgress(name, unit))(done, total, note)
                return
            if not displays:
                displays.append(stack.enter_context(bars()))
            if name not in tasks:
                tasks[name] = displays[0].add_task(name, total=total, note=note, unit=unit)
            visible = not hide_finished or done != total
            displays[0].update(tasks[name], completed=done, total=total, note=note, visible=visible)

        yield show


class PlainProgress:
    """A line every ten seconds, for logs."""

    def __init__(self, title: str, unit: Unit) -> None:
        self._title = title
        self._unit: Unit = unit
        self._last = self._began = time.monotonic()
        self._first: int | None = None  # a resumed run starts in the middle

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Write a line if one is due."""
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
