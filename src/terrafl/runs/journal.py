"""The journal: one JSON object per line, one line per event, never rewritten.

Equal runs write equal bytes, so nothing that differs between them (time, process ids, worker
counts) belongs here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from terrafl.errors import RunFolderError

__all__ = ["Journal", "read_events"]

Event = dict[str, Any]  # Any: what JSON can hold


class Journal:
    """An append-only file of events.

    Parameters
    ----------
    path
        The file.
    keep
        How many bytes of an earlier run stand: what lies beyond is not covered by its
        checkpoint (or is a torn last line) and will be written again.
    """

    def __init__(self, path: Path, *, keep: int = 0) -> None:
        size = path.stat().st_size if path.exists() else 0
        if size < keep:
            raise RunFolderError(
                f"{path} must hold at least the {keep} bytes its checkpoint covers; "
                f"it has {size}: restore the file, or start the run afresh in another folder."
            )
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(keep)
        self._file.seek(keep)

    def append(self, event: Mapping[str, object]) -> None:
        """Add one event and hand it to the operating system."""
        line = json.dumps(event, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()

    def sync(self) -> int:
        """Wait until everything is on disk; return the length in bytes."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, which may still be growing.

    A last line without an end is being written, or was torn by a crash: it is left out.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                yield _parsed(line, path, number)
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from error


def _parsed(line: bytes, path: Path, number: int) -> Event:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise RunFolderError(
            f"{path}, line {number}, must be a JSON object; it is damaged: {error}."
        ) from error
    if not isinstance(event, dict):
        raise RunFolderError(f"{path}, line {number}, must be a JSON object; it is not.")
    return event
