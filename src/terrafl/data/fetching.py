"""Fetch what a data set lacks: file by file, out of an archive, or the one file that it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from terrafl.data.archive import Archive, extract
from terrafl.data.download import Source, download
from terrafl.data.entry import Entry
from terrafl.data.files import DataFile, FileStatus, Progress, Published, home
from terrafl.data.zipped import Tree, unpack
from terrafl.errors import DataError

__all__ = ["fetch_entry"]


def fetch_entry(
    entry: Entry[Any],  # Any: files of whatever kind
    root: Path | None,
    progress: Progress | None,
    source: Source | None,
) -> list[Path]:
    """Download the missing and damaged files of an entry; return where all are."""
    statuses = entry.check(root)
    lacking = [status for status in statuses if not status.ok]
    if lacking and not entry.base_url:
        raise DataError(lacking[0].problem)
    if lacking and entry.original is not None:
        place = home(root) / entry.folder / entry.original.name
        if lacking[0].path not in (None, place):  # another form, or the user's: not ours to replace
            raise DataError(lacking[0].problem)
        besides = _besides(entry, (), home(root))
        return [
            download(entry.original, place, source or _official(entry), progress, besides=besides)
        ]
    paths = {s.name: s.path if s.ok and s.path else _place(entry, s, root) for s in statuses}
    names = {status.name for status in lacking}
    wanted = [(file, paths[file.name]) for file in entry.files if file.name in names]
    if wanted:
        _fetch(entry, wanted, home(root), source or _official(entry), progress)
    return [paths[status.name] for status in statuses]


def _official(entry: Entry[Any]) -> Source:  # Any: as above
    return Source(base_url=entry.base_url)


def _fetch(
    entry: Entry[Any],  # Any: as above
    wanted: Sequence[tuple[Published[Any], Path]],  # Any: as above
    folder: Path,
    source: Source,
    progress: Progress | None,
) -> None:
    # What has an address is a file or a tree; arrays have none.
    files = [(file, path) for file, path in wanted if isinstance(file, DataFile)]
    trees = [(tree, path) for tree, path in wanted if isinstance(tree, Tree)]
    for tree, path in trees:
        if path.exists():  # and may hold more than ours: not to be deleted by us
            raise DataError(f"{path} is not the published {tree.name}. Delete it and fetch again.")
    if entry.archive is None:
        for done, (file, path) in enumerate(files, 1):
            besides = _besides(entry, [file.name for file, _ in files[done:]], folder)
            download(file, path, source, progress, besides=besides)
        return
    stored = folder / entry.archive.name
    with _archive(entry.archive, stored, source, progress):
        for tree, path in trees:
            unpack(stored, tree, path, progress)
        if files:
            members = {f"{entry.folder}/{file.name}": (file, path) for file, path in files}
            whole = sum(file.size for file in entry.files if isinstance(file, DataFile))
            extract(stored, members, whole, progress)


def _besides(entry: Entry[Any], names: Sequence[str], folder: Path) -> str:  # Any: as above
    """Return what to do without the source but for putting a file where it belongs."""
    others = f"Put {', '.join(names)} beside it. " if names else ""
    way = entry.other_way.format(home=folder)
    return f"{others}Or {way}." if way else others


@contextmanager
def _archive(
    archive: Archive, stored: Path, source: Source, progress: Progress | None
) -> Iterator[None]:
    """Use the archive that the user put there, or fetch one and delete it when it is unpacked."""
    if stored.is_file():
        try:
            archive.verify(stored)
        except DataError as error:
            raise DataError(f"{error} Delete it and fetch again.") from error
        yield
    else:
        download(archive, stored, source, progress)
        try:
            yield
        finally:
            stored.unlink()


def _place(entry: Entry[Any], status: FileStatus, root: Path | None) -> Path:  # Any: as above
    # A damaged file of the user's would be found before its replacement: it has to make way.
    # One of the system's would be found after it.
    ours = home(root)
    if status.path is not None and status.path.is_relative_to(ours):
        return status.path
    return ours / entry.folder / status.name
