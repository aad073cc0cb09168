"""Published archives, and tar archives: take out the files that are wanted, and nothing else.

No member decides where anything is written: a file is wanted by its name in the archive, and
goes where the caller says, once its content has proved right.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from terrafl.data.files import DataFile, Progress
from terrafl.errors import DataError

__all__ = ["Archive", "extract", "require_tame"]

_CHUNK = 1 << 20
_MOST = 10**9  # bytes of a file whose length is not known
_OVERHEAD = 1 << 22  # member headers, padding, and the small files that nobody wants


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A file that a data set is published in, packed or as it is read, known by itself.

    Parameters
    ----------
    name
        The file's official name.
    size
        Its length in bytes; ``None`` where it is not known.
    sha256
        SHA-256 of the file as it is published, in hexadecimal.
    """

    name: str
    size: int | None
    sha256: str

    @property
    def limit(self) -> int:
        """Most bytes that it may take."""
        return _MOST if self.size is None else self.size

    @property
    def proof(self) -> str:
        """How to recognise the right file."""
        return f"its sha256 must be {self.sha256}"

    def find(self, folder: Path) -> Path | None:
        """Return where it lies in this folder, right or wrong."""
        path = folder / self.name
        return path if path.is_file() else None

    def verify(self, path: Path) -> None:
        """Raise unless the file at this path is it."""
        try:
            with path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if self.size not in (None, size):
                    raise DataError(f"{path} must hold {self.size} bytes; got {size}.")
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"{path} must be readable; got: {error}.") from error
        if digest != self.sha256:
            raise DataError(f"the sha256 of {path} must be {self.sha256}; got {digest}.")


class _Bounded:
    """A stream that ends in an error where it grows too long."""

    def __init__(self, stream: gzip.GzipFile, limit: int, path: Path) -> None:
        self._stream = stream
        self._left = limit
        self._path = path

    def read(self, size: int) -> bytes:
        piece = self._stream.read(min(size, self._left + 1))
        self._left -= len(piece)
        if self._left < 0:
            raise DataError(f"{self._path} must unpack to what is published; got more.")
        return piece


def extract(
    path: Path,
    wanted: Mapping[str, tuple[DataFile, Path]],
    limit: int,
    progress: Progress | None = None,
) -> None:
    """Take files out of an archive.

    Parameters
    ----------
    path
        The archive.
    wanted
        What each wanted member must contain and where it goes, by its name in the archive.
        A file gets its final name in one step, once it has proved right.
    limit
        Bytes that all files worth having take; the archive may unpack to little more.
    progress
        Told about every wanted file that is unpacked.
    """
    missing = dict(wanted)
    done, total = 0, sum(file.size for file, _ in wanted.values())
    try:
        with gzip.open(path, "rb") as packed:
            bounded = _Bounded(packed, limit + _OVERHEAD, path)
            with tarfile.open(fileobj=bounded, mode="r|") as archive:  # type: ignore[call-overload]  # reads only
                for member in archive:
                    require_tame(member.name, member.isreg() or member.isdir(), path)
                    name = str(PurePosixPath(member.name))
                    if name in missing:
                        _take(archive, member, *missing.pop(name), path)
                        done += member.size
                        if progress is not None:
                            progress(f"unpacking {path.name}", done, total)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise DataError(f"{path} must be a whole tar.gz archive; got: {error}.") from error
    if missing:
        raise DataError(f"{path} must hold {', '.join(missing)}; it does not.")


def require_tame(name: str, plain: bool, path: Path) -> None:
    """Raise where a member of an archive lies outside it, or is no plain file or folder."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or not plain:
        raise DataError(f"{path} must hold plain files and folders inside it only; got {name!r}.")


def _take(
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    file: DataFile,
    destination: Path,
    path: Path,
) -> None:
    stream = archive.extractfile(member) if member.isreg() else None
    if stream is None or member.size != file.size:
        raise DataError(
            f"{member.name} in {path} must be a file of {file.size} bytes; got {member.size}."
        )
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = destination.with_name(destination.name + ".part")
    try:
        with part.open("wb") as out:
            while piece := stream.read(_CHUNK):
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        file.verify(part)
        os.replace(part, destination)
    finally:
        part.unlink(missing_ok=True)
