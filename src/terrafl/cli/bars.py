"""Progress bars on a terminal, plain lines elsewhere, on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal, Protocol

from rich.console import Console
from rich.filesize import decimal
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

Unit = Literal["round", "image", "byte", "example", "file", "problem"]

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


def amount(done: int, total: int | None, unit: Unit) -> str:
    """Return the amount done as text.

    Examples
    --------
    >>> amount(3, 20, "round"), amount(500, 1000, "image")
    ('round 3 of 20', '500 of 1,000 images')
    >>> amount(1_500_000, None, "byte")
    '1.5 MB'
    """
    if unit == "byte":
        return decimal(done) if total is None else f"{decimal(done)} of {decimal(total)}"
    if unit == "round":
        return "" if total is None else f"round {done} of {total}"
    return f"{done:,} {unit}s" if total is None else f"{done:,} of {total:,} {unit}s"


def rate(speed: float | None, unit: Unit) -> str:
    """Return the speed as text: units per second, or seconds per unit below one per second.

    Examples
    --------
    >>> rate(2.5, "round"), rate(0.25, "round"), rate(1e6, "byte")
    ('2.5 rounds/s', '4.0 s/round', '1.0 MB/s')
    """
    if not speed:
        return ""
    if unit == "byte":
        return f"{decimal(int(speed))}/s"
    if speed < 1:
        return f"{1 / speed:.1f} s/{unit}"
    return f"{speed:,.1f} {unit}s/s"


def time_left(done: int, total: int | None, speed: float | None) -> str:
    """Return the remaining time as text, or an empty string if it is unknown.

    Examples
    --------
    >>> time_left(10, 100, 1.5), time_left(10, 10, 1.5)
    ('1:00 left', '')
    """
    if not speed or total is None or done >= total:
        return ""
    minutes, seconds = divmod(round((total - done) / speed), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"
