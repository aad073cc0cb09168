"""Unpack published zip and tar.gz archives into a temporary folder.

An archive's checksum is verified before it is unpacked. Its members are checked all the same: a
path or link that leads outside the folder, a special file, or more bytes than are expected is
refused before anything is written.
"""

import gzip
import io
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from terrafl.data.files import BROKEN_ARCHIVE, DataFile, Progress
from terrafl.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(DataFile):
    """A published archive of a data set's files.

    Parameters
    ----------
    inside
        The folder in the archive that holds the files; empty for none.
    unpacked_limit
        Most bytes that it may unpack to.
    """

    inside: str = ""
    unpacked_limit: int


class _Member(NamedTuple):
    name: str
    size: int
    is_plain: bool  # a file or folder, not a link or device
    stream: Callable[[], IO[bytes] | None]  # None for a folder


@contextmanager
def unpacked(path: Path, limit: int, progress: Progress | None = None) -> Iterator[Path]:
    """Unpack an archive for the length of a block; yield the folder, deleted afterwards.

    Parameters
    ----------
    path
        The archive; the folder is beside it, so that files can be moved out of it in one step.
    limit
        Most bytes that its members may take.
    progress
        Called for every file that is unpacked.
    """
    folder = path.with_name(path.name + ".unpacked")
    shutil.rmtree(folder, ignore_errors=True)  # left by an attempt that was killed
    try:
        try:
            folder.mkdir()
            with _members(path, limit) as members:
                _write(path, members, folder, limit, progress)
        except DataError:
            raise
        except (*BROKEN_ARCHIVE, tarfile.TarError) as error:
            raise DataError(
                f"{path} must be a whole archive, with room to unpack it; got: {error}."
            ) from error
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def require_safe_member(name: str, is_plain: bool, path: Path) -> None:
    """Raise if a member of an archive is outside it, or is not a plain file or folder."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or not is_plain:
        raise DataError(f"{path} must hold only plain files and folders inside it; got {name!r}.")


def _write(
    path: Path, members: list[_Member], folder: Path, limit: int, progress: Progress | None
) -> None:
    total, done = sum(member.size for member in members), 0
    if total > limit:
        raise _too_large(path, limit)
    for member in members:
        require_safe_member(member.name, member.is_plain, path)
    for member in members:
        target = folder / member.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (stream := member.stream()) is not None:
            with stream, target.open("xb") as out:
                shutil.copyfileobj(stream, out)
        done += member.size
        if progress is not None:
            progress(f"unpacking {path.name}", done, total)


@contextmanager
def _members(path: Path, limit: int) -> Iterator[list[_Member]]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as zipped:
            yield [_zip_member(zipped, info) for info in zipped.infolist()]
        return
    with gzip.open(path) as packed:
        content = packed.read(limit + 1)  # in memory: a header of any length is bounded, too
    if len(content) > limit:
        raise _too_large(path, limit)
    with tarfile.open(fileobj=io.BytesIO(content)) as tarred:
        yield [
            _Member(i.name, i.size, i.isreg() or i.isdir(), partial(tarred.extractfile, i))
            for i in tarred.getmembers()
        ]


def _zip_member(zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    is_plain = not stat.S_ISLNK(info.external_attr >> 16)
    stream = (lambda: None) if info.is_dir() else partial(zipped.open, info)
    return _Member(info.filename, info.file_size, is_plain, stream)  # zipfile reads no more bytes


def _too_large(path: Path, limit: int) -> DataError:
    return DataError(f"{path} must unpack to at most {limit} bytes; got more.")
