"""Fetch the missing and damaged files of a data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from terrafl.data.archives import Archive, unpacked
from terrafl.data.download import download
from terrafl.data.entry import Entry
from terrafl.data.files import DataFile, FileStatus, Progress, Published
from terrafl.errors import DataError
from terrafl.folders import home

__all__ = ["fetch_entry"]

Wanted = list[tuple[Published[Any], Path]]  # Any: the content differs between data sets


def fetch_entry(
    entry: Entry[Any],  # Any: as above
    root: Path | None,
    progress: Progress | None = None,
    base_url: str = "",
) -> list[Path]:
    """Download the missing and damaged files of an entry; return the paths of all files."""
    statuses = entry.check(root)
    problems = [status.problem for status in statuses if not status.ok]
    if problems and not entry.base_url:
        raise DataError(problems[0])
    url, folder = base_url or entry.base_url, home(root)
    alternative = f"Or {entry.alternative.format(home=folder)}." if entry.alternative else ""
    if problems and entry.original is not None:
        path = folder / entry.subfolders[0] / entry.original.name
        if statuses[0].path not in (None, path):  # the user's, in another form: do not replace it
            raise DataError(problems[0])
        return [download(entry.original, path, url, progress, alternative=alternative)]
    paths = {s.name: s.path if s.ok and s.path else _place(entry, s, root) for s in statuses}
    wanted = [
        (file, paths[file.name])
        for file, status in zip(entry.files, statuses, strict=True)
        if not status.ok
    ]
    if wanted and entry.archive is not None:
        _fetch_archive(entry.archive, folder, wanted, url, progress)
    for number, (file, path) in enumerate(wanted if entry.archive is None else (), 1):
        assert isinstance(file, DataFile)  # other forms are published in archives
        rest = ", ".join(other.name for other, _ in wanted[number:])
        others = f"Put {rest} beside it. " if rest else ""
        download(file, path, url, progress, alternative=others + alternative)
    return list(paths.values())


def _place(entry: Entry[Any], status: FileStatus, root: Path | None) -> Path:  # Any: as above
    # A damaged file in the user's folder would be found before its replacement: replace it there.
    # One in a system folder would be found after it.
    if status.path is not None and status.path.is_relative_to(home(root)):
        return status.path
    return home(root) / entry.subfolders[0] / status.name


def _fetch_archive(
    archive: Archive, folder: Path, wanted: Wanted, url: str, progress: Progress | None
) -> None:
    """Take files out of the user's copy of an archive, or of a download that is then deleted."""
    for file, path in wanted:
        if path.is_dir():  # may hold other files of the user: do not delete it
            raise DataError(
                f"{path} must be the published {file.name}; got another. Delete it and fetch again."
            )
    stored = folder / archive.name
    users_copy = stored.is_file()
    if users_copy:
        try:
            archive.verify(stored)
        except DataError as error:
            raise DataError(f"{error} Delete it and fetch again.") from error
    else:
        download(archive, stored, url, progress)
    try:
        with unpacked(stored, archive.unpacked_limit, progress) as content:
            for file, path in wanted:
                source = content / archive.inside / file.name
                file.verify(source)
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, path)
    except OSError as error:
        raise DataError(f"{folder} must be writable; got: {error}.") from error
    finally:
        if not users_copy:
            stored.unlink()
