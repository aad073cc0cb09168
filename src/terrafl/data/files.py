"""Published data files: what they must contain, and where they may lie."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from terrafl.errors import DataError

__all__ = ["DataFile", "FileStatus", "home", "search_folders"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A published file, known by its content.

    A file whose name ends in ``.gz`` is judged by what it unpacks to: distributors compress
    the same content differently.

    Parameters
    ----------
    name
        The file's official name.
    size
        Length of the content in bytes.
    sha256
        SHA-256 of the content, in hexadecimal.
    """

    name: str
    size: int
    sha256: str

    @property
    def limit(self) -> int:
        """Most bytes that the stored file may take: gzip adds little to what it cannot pack."""
        return self.size + self.size // 1000 + 1024

    def read(self, path: Path) -> bytes:
        """Return the content of the file at this path, once it has proved to be the right one.

        No more is read than the file may hold, and no more is unpacked than it must.
        """
        try:
            with path.open("rb") as stream:
                stored = stream.read(self.limit + 1)
        except OSError as error:
            raise DataError(f"{path} must be readable; got: {error}.") from error
        if len(stored) > self.limit:
            raise DataError(f"{path} must hold at most {self.limit} bytes; got more.")
        content = self._unpacked(stored, path) if self.name.endswith(".gz") else stored
        if len(content) != self.size:
            more = "more" if len(content) > self.size else str(len(content))
            raise DataError(f"{path} must contain {self.size} bytes of data; got {more}.")
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise DataError(f"the sha256 of {path}'s data must be {self.sha256}; got {digest}.")
        return content

    def _unpacked(self, stored: bytes, path: Path) -> bytes:
        unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)  # with gzip's header and check
        try:
            content = unpacking.decompress(stored, self.size + 1)
        except zlib.error as error:
            raise DataError(f"{path} must be a whole gzip file; got: {error}.") from error
        if len(content) <= self.size and (not unpacking.eof or unpacking.unused_data):
            found = "bytes after its end" if unpacking.eof else "one that is cut short"
            raise DataError(f"{path} must be one whole gzip file; got {found}.")
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """What was found of one published file.

    Parameters
    ----------
    name
        The file's official name.
    path
        Where it is; ``None`` where it is missing.
    size
        Bytes that it takes there.
    ok
        Whether it has the right content.
    problem
        What is wrong, in one sentence; empty when it is right.
    """

    name: str
    path: Path | None
    size: int | None
    ok: bool
    problem: str


def home(root: Path | None) -> Path:
    """Return the folder for fetched data: the given one, ``$TERRAFL_DATA``, or the user's cache."""
    return _given(root) or _cache()


def search_folders(
    root: Path | None, names: Sequence[str], system: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """Return the folders in which a data set's files are looked for, the first first.

    Parameters
    ----------
    root
        Look here and nowhere else; ``None`` for ``$TERRAFL_DATA``, the user's cache
        (``$XDG_CACHE_HOME/terrafl`` or ``~/.cache/terrafl``) and the system's folders.
    names
        Names of the data set's own subfolder, the one that is fetched into first.
    system
        Where operating systems install the data set.
    """
    given = _given(root)
    folders = [given, *(given / name for name in names)] if given else []
    if root is None:
        folders += [_cache() / names[0], *system]
    return tuple(folders)


def _given(root: Path | None) -> Path | None:
    data = os.environ.get("TERRAFL_DATA")
    return root or (Path(data) if data else None)


def _cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # The XDG specification: a relative path is to be ignored.
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "terrafl"
