"""Published data files: what they must contain."""

import gzip
import hashlib
import mmap
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import Generic, TypeVar
from zipfile import BadZipFile

from terrafl.errors import DataError
from terrafl.folders import require_sha256

Progress = Callable[[str, int, int | None], None]
"""Called with a name, how much is done, and the total (``None`` if unknown)."""

Bytes = bytes | memoryview
"""The content of a file: unpacked in memory, or mapped."""

BROKEN_ARCHIVE = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, MemoryError),
    *(BadZipFile, zlib.error, LZMAError),
)
"""What reading a damaged archive can raise, and errors of the operating system."""

_UNKNOWN_SIZE = 10**9  # most bytes of a file whose length is not known

Content_co = TypeVar("Content_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(ABC, Generic[Content_co]):
    """A published file or folder, identified by its content.

    Parameters
    ----------
    name
        Its official name.
    """

    name: str

    def find(self, folder: Path) -> Path | None:
        """Return its path in this folder, valid or not; ``None`` if it is not there."""
        path = folder / self.name
        return path if path.is_file() else None

    def verify(self, path: Path) -> str:
        """Raise unless the content at this path is the published one.

        Return what it is, in a few words, if several forms are valid.
        """
        self.read(path)
        return ""

    @abstractmethod
    def read(self, path: Path, progress: Progress | None = None) -> Content_co:
        """Return the content, after verifying it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile(Published[Bytes]):
    """A published file, identified by the SHA-256 of its bytes.

    Parameters
    ----------
    size
        Its length in bytes; ``None`` if it is not known.
    sha256
        Its SHA-256, in hexadecimal.
    """

    size: int | None
    sha256: str

    @property
    def limit(self) -> int:
        """Most bytes that it may take."""
        return _UNKNOWN_SIZE if self.size is None else self.size

    @property
    def known_hash(self) -> str:
        """The algorithm and the hash of the published file, as pooch takes them."""
        return f"sha256:{self.sha256}"

    def read(self, path: Path, progress: Progress | None = None) -> Bytes:
        """Return the file mapped into memory, after verifying it; writes do not reach the file."""
        require_sha256(path, self.sha256, self.size)
        try:
            with path.open("rb") as stream:
                return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
        except (OSError, ValueError) as error:  # the latter for an empty file
            raise DataError(f"{path} must be readable; got: {error}.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class GzipFile(DataFile):
    """A published gzip file, identified by what it unpacks to.

    Distributors compress the same content differently: ``size`` and ``sha256`` are those of the
    content.

    Parameters
    ----------
    md5
        MD5 of the compressed file as it is published; checked after a download.
    """

    md5: str = ""

    @property
    def limit(self) -> int:
        """Most bytes that it may take: gzip adds little to what it cannot compress."""
        assert self.size is not None
        return self.size + self.size // 1000 + 1024

    @property
    def known_hash(self) -> str:
        """The algorithm and the hash of the published file, as pooch takes them."""
        return f"md5:{self.md5}"

    def read(self, path: Path, progress: Progress | None = None) -> Bytes:
        """Return the content, after verifying it; no more is unpacked than it must have."""
        assert self.size is not None
        try:
            with gzip.open(path) as stream:
                content = stream.read(self.size + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} must be a whole gzip file; got: {error}.") from error
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            size = f"more than {self.size}" if len(content) > self.size else len(content)
            raise DataError(
                f"{path} must be a gzip file of {self.size} bytes with the sha256 "
                f"{self.sha256}; got {size} bytes with {digest}."
            )
        return content


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """The result of checking one published file.

    Parameters
    ----------
    name
        The file's official name.
    path
        Where it is; ``None`` if it is missing.
    size
        Its length in bytes; ``None`` if it is missing or a folder.
    ok
        Whether it has the right content.
    problem
        What is wrong, in one sentence; empty if nothing is.
    note
        What it is, in a few words, if several forms are valid.
    """

    name: str
    path: Path | None
    size: int | None
    ok: bool
    problem: str
    note: str = ""
