"""Read a whole journal, or the timings, of a run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from terrafl.errors import RunFolderError
from terrafl.runs.checks import parse_object
from terrafl.runs.event_parser import parse_event
from terrafl.runs.events import Event

Item = TypeVar("Item")


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
