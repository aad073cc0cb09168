"""A file of events that grows, is cut back, or is replaced while somebody reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from terrafl.runs.journal import Plain as Event

__all__ = ["Tail"]

HEAD = 1024
"""Bytes that tell a file from another one in its place."""


@dataclass(slots=True)
class Tail:
    """The lines of a file that were not read yet.

    Parameters
    ----------
    path
        The file; it may not exist yet.
    """

    path: Path
    _offset: int = field(default=0, init=False)
    _head: bytes = field(default=b"", init=False)

    def read(self) -> tuple[bool, list[Event]]:
        """Return whether to start afresh, and the events that came since the last reading.

        A journal that was cut back to its checkpoint is read again from its start. A line
        without an end is still being written and is left for the next time.
        """
        try:
            with self.path.open("rb") as file:
                head = file.read(HEAD)
                size = file.seek(0, 2)
                afresh = size < self._offset or not head.startswith(self._head[:HEAD])
                start = 0 if afresh else self._offset
                file.seek(start)
                text = file.read(size - start)
        except FileNotFoundError:
            afresh, start, text, head = self._offset > 0, 0, b"", b""
        whole = text[: text.rfind(b"\n") + 1]
        self._offset, self._head = start + len(whole), head
        return afresh, [event for line in whole.splitlines() if (event := _event(line))]


def _event(line: bytes) -> Event | None:
    """Return the event of a line; a damaged line is passed over, the run's own reader tells."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
