"""Published data files: what they must contain, and where they may lie."""

from __future__ import annotations

import hashlib
import lzma
import mmap
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, runtime_checkable

from terrafl.errors import DataError
from terrafl.folders import chosen, home, user_cache

__all__ = [
    "BROKEN_ZIP",
    "Bytes",
    "DataFile",
    "Described",
    "FileStatus",
    "Progress",
    "Published",
    "home",
    "search_folders",
]

Progress = Callable[[str, int, int | None], None]
"""Hear a name, how much of it is done, and how much there is where that is known."""

Bytes = bytes | memoryview
"""The content of a file: unpacked in memory, or mapped where it lies."""

BROKEN_ZIP = (
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What reading a zip file of any content can bring about, besides errors of the system."""

Content_co = TypeVar("Content_co", covariant=True)


class Published(Protocol[Content_co]):
    """A file or folder that somebody published, known by its content."""

    @property
    def name(self) -> str:
        """Its official name."""
        ...

    def find(self, folder: Path) -> Path | None:
        """Return where it lies in this folder, right or wrong; ``None`` if it does not."""
        ...

    def verify(self, path: Path) -> None:
        """Raise unless what lies there has the right content."""
        ...

    def read(self, path: Path, progress: Progress | None = None) -> Content_co:
        """Return what lies there, once it has proved to be right."""
        ...


@runtime_checkable
class Described(Protocol):
    """What may be right and still one thing or another."""

    def describe(self, path: Path) -> str:
        """Return in a few words what lies there; raise unless it has the right content."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A published file, known by its content.

    A file whose name ends in ``.gz`` is judged by what it unpacks to: distributors compress
    the same content differently. Any other is mapped into memory, not copied there; pages that
    a reader writes to become its own.

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

    @property
    def proof(self) -> str:
        """How to recognise the right file."""
        return f"the sha256 of its uncompressed data must be {self.sha256}"

    def find(self, folder: Path) -> Path | None:
        """Return where the file lies in this folder, right or wrong."""
        path = folder / self.name
        return path if path.is_file() else None

    def verify(self, path: Path) -> None:
        """Raise unless the file at this path has the right content."""
        self.read(path)

    def read(self, path: Path, progress: Progress | None = None) -> Bytes:
        """Return the content of the file at this path, once it has proved to be the right one.

        No more is read than the file may hold, and no more is unpacked than it must. It takes
        no time worth telling ``progress`` of.
        """
        packed = self.name.endswith(".gz")
        try:
            with path.open("rb") as stream:
                content = self._unpacked(stream, path) if packed else self._mapped(stream, path)
        except DataError:
            raise
        except (OSError, ValueError) as error:  # the latter where there is nothing to map
            raise DataError(f"{path} must be readable; got: {error}.") from error
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise DataError(f"the sha256 of {path}'s data must be {self.sha256}; got {digest}.")
        return content

    def _mapped(self, stream: BinaryIO, path: Path) -> memoryview:
        self._require_size(os.fstat(stream.fileno()).st_size, path)
        return memoryview(mmap.mmap(stream.fileno(), self.size, access=mmap.ACCESS_COPY))

    def _unpacked(self, stream: BinaryIO, path: Path) -> bytes:
        stored = stream.read(self.limit + 1)
        if len(stored) > self.limit:
            raise DataError(f"{path} must hold at most {self.limit} bytes; got more.")
        unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)  # with gzip's header and check
        try:
            content = unpacking.decompress(stored, self.size + 1)
        except zlib.error as error:
            raise DataError(f"{path} must be a whole gzip file; got: {error}.") from error
        if len(content) <= self.size and (not unpacking.eof or unpacking.unused_data):
            found = "bytes after its end" if unpacking.eof else "one that is cut short"
            raise DataError(f"{path} must be one whole gzip file; got {found}.")
        self._require_size(len(content), path)
        return content

    def _require_size(self, size: int, path: Path) -> None:
        if size != self.size:
            found = "more" if size > self.size else str(size)
            raise DataError(f"{path} must contain {self.size} bytes of data; got {found}.")


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
        Bytes that it takes there; ``None`` where it is missing or a folder.
    ok
        Whether it has the right content.
    problem
        What is wrong, in one sentence; empty when it is right.
    note
        What it is, in a few words, where that is not known beforehand.
    """

    name: str
    path: Path | None
    size: int | None
    ok: bool
    problem: str
    note: str = ""


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
    given = chosen(root)
    folders = [given, *(given / name for name in names)] if given else []
    if root is None:
        folders += [user_cache() / names[0], *system]
    return tuple(folders)
