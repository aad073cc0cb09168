"""Read the journal or the timings of a run: whole, or while it grows, is cut or replaced."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from terrafl.errors import RunFolderError
from terrafl.runs.checks import parse_object
from terrafl.runs.event_parser import parse_event
from terrafl.runs.events import Event

Item = TypeVar("Item")

_REMEMBERED = 1024  # bytes


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, which may still be growing.

    A last line without an end is being written, or a crash has cut it: it is left out. Events
    that only a newer version knows are left out too.

    Raises
    ------
    RunFolderError
        For a file that cannot be read or a value that is invalid, with the number of its line.
    """
    events = _read(path, lambda line: parse_event(parse_object(line)))
    return (event for event in events if event is not None)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:  # Any: what JSON can hold
    """Yield the lines of a journal as JSON objects whose values are not checked."""
    return _read(path, parse_object)


def _read(path: Path, parse: Callable[[bytes], Item]) -> Iterator[Item]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                try:
                    yield parse(line)
                except ValueError as error:
                    raise RunFolderError(
                        f"{path}, line {number}, must be an event as terrafl writes it; it is "
                        f"damaged: {error}. Restore the file, or leave the run out."
                    ) from error
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from error


class News(NamedTuple):
    """The result of one reading."""

    restarted: bool
    """Whether the file is another one now: forget all earlier events."""
    events: list[Event]
    """The events that were not read before."""


@dataclass(slots=True)
class Tail:
    """The events of a file that were not read yet.

    A damaged line is skipped.

    Parameters
    ----------
    path
        The file; it may not exist yet.
    """

    path: Path
    problem: str = field(default="", init=False)
    """The first damaged line and its fault; empty where there is none."""
    _offset: int = field(default=0, init=False)
    _lines: int = field(default=0, init=False)
    _before: bytes = field(default=b"", init=False)  # the last bytes before the offset

    def read(self) -> News:
        """Return the events since the last reading.

        A file is read again from its start if it is shorter than before, or if the bytes that
        were read last have changed: a resumed run cuts its journal back to its checkpoint. A
        last line without an end is still being written; it is left for the next reading.
        """
        start = self._offset - len(self._before)
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                text = file.read()
                restarted = not text.startswith(self._before)
                if restarted:
                    file.seek(0)
                    text = file.read()
                else:
                    text = text[len(self._before) :]
        except FileNotFoundError:
            restarted, text = self._offset > 0, b""
        if restarted:
            self._offset, self._lines, self._before, self.problem = 0, 0, b"", ""
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._before = (self._before + whole[-_REMEMBERED:])[-_REMEMBERED:]
        return News(restarted, self._parsed(whole))

    def _parsed(self, whole: bytes) -> list[Event]:
        events = []
        for line in whole.splitlines():
            self._lines += 1
            try:
                event = parse_event(parse_object(line))
            except ValueError as error:
                name = self.path.name
                self.problem = self.problem or f"{name}, line {self._lines}, is damaged: {error}"
                continue
            if event is not None:
                events.append(event)
        return events
