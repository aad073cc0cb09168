"""The journal: one JSON object per line, one line per event, never rewritten.

Equal runs write equal bytes, so nothing that differs between them (time, process ids, worker
counts) belongs here.
"""

import hashlib
import json
import mmap
import os
from pathlib import Path

from terrafl.errors import RunFolderError
from terrafl.runs.atomic import sync_folder
from terrafl.runs.events import Event, to_plain

_CHUNK = 1 << 20


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
        is_new = not path.exists()
        size = 0 if is_new else path.stat().st_size
        if size < keep:
            raise RunFolderError(
                f"{path} must hold at least the {keep} bytes its checkpoint covers; "
                f"it has {size}: restore the file, or start the run again in another folder."
            )
        # Unbuffered: what a full disk refused is not tried again when the file is closed.
        self._file = path.open("xb+" if is_new else "rb+", buffering=0)
        self._digest = _digest(path, keep)
        self._file.truncate(keep)
        self._file.seek(keep)
        if is_new:
            sync_folder(path.parent)

    def append(self, event: Event) -> None:
        """Add one event and hand it to the operating system."""
        text = json.dumps(
            to_plain(event), separators=(",", ":"), allow_nan=False, ensure_ascii=False
        )
        line = text.encode() + b"\n"
        self._digest.update(line)
        rest = memoryview(line)
        while rest:
            rest = rest[self._file.write(rest) :]

    def sync(self) -> int:
        """Wait until everything is on disk; return the length in bytes."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    @property
    def sha256(self) -> str:
        """SHA-256 of everything written, in hexadecimal."""
        return self._digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def starts_with(path: Path, length: int, sha256: str) -> bool:
    """Return whether a file begins with so many bytes of this SHA-256."""
    if not path.is_file() or path.stat().st_size < length:
        return False
    return _digest(path, length).hexdigest() == sha256


def whole_lines(path: Path) -> int:
    """Return the length of a file up to the end of its last whole line; 0 where there is none."""
    if not path.exists() or not path.stat().st_size:
        return 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.rfind(b"\n") + 1


def _digest(path: Path, length: int) -> "hashlib._Hash":
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while length and (piece := file.read(min(length, _CHUNK))):
            digest.update(piece)
            length -= len(piece)
    return digest
