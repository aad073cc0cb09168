"""Published zip archives of a folder: write the files that it must have, and nothing else.

No member decides where anything is written: the folder's description names its files, and the
folder gets its final name in one step, once its content has proved right.
"""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from terrafl.data.archive import require_tame
from terrafl.data.files import BROKEN_ZIP, Progress
from terrafl.errors import DataError

__all__ = ["Tree", "unpack"]


@runtime_checkable
class Tree(Protocol):
    """A published folder, known by the content of its files."""

    @property
    def name(self) -> str:
        """Its official name."""
        ...

    @property
    def size(self) -> int:
        """Bytes that all its files take."""
        ...

    def files(self, path: Path) -> Iterator[tuple[str, int]]:
        """Yield the name of each file and the most bytes it may take.

        A file that names others is read at the path after it was yielded, not before.
        """
        ...

    def verify(self, path: Path) -> None:
        """Raise unless every file has the right content."""
        ...


def unpack(path: Path, tree: Tree, destination: Path, progress: Progress | None = None) -> None:
    """Make a folder of what an archive holds of it.

    Parameters
    ----------
    path
        The archive.
    tree
        What the folder must contain.
    destination
        The folder's path, where nothing may be yet.
    progress
        Told about every file that is unpacked.
    """
    part = destination.with_name(destination.name + ".part")
    shutil.rmtree(part, ignore_errors=True)  # of an attempt that was killed
    try:
        _write(path, tree, part, progress)
        tree.verify(part)
        os.rename(part, destination)
    except OSError as error:
        raise DataError(
            f"{path} could not be unpacked to {destination}: {error}. Make room there, or fetch "
            "into another folder."
        ) from error
    except BROKEN_ZIP as error:
        raise DataError(
            f"{path} does not hold the published {tree.name}: {str(error).rstrip('.')}. "
            "Nothing was kept."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write(path: Path, tree: Tree, folder: Path, progress: Progress | None) -> None:
    done = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            require_tame(member.filename, not stat.S_ISLNK(member.external_attr >> 16), path)
        for name, limit in tree.files(folder):
            most = min(limit, tree.size - done)
            with archive.open(f"{tree.name}/{name}") as packed:
                content = packed.read(most + 1)  # no more is unpacked than is asked for
            if len(content) > most:
                raise DataError(f"{name} must take at most {most} bytes; got more.")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
            done += len(content)
            if progress is not None:
                progress(f"unpacking {path.name}", done, tree.size)
