"""Data sets by name: list, check, fetch and load them.

A further data set is a file in :mod:`terrafl.data.sets` and an entry in :data:`CATALOG`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from terrafl.data.dataset import Dataset
from terrafl.data.entry import Entry
from terrafl.data.files import FileStatus, home
from terrafl.data.sets import DIGITS, FMNIST
from terrafl.errors import ConfigurationError, DataError
from terrafl.settings import suggest

if TYPE_CHECKING:
    from terrafl.data.download import Progress, Source

__all__ = [
    "CATALOG",
    "Description",
    "available",
    "check",
    "describe",
    "fetch",
    "fetch_entry",
    "load",
]

CATALOG: dict[str, Entry] = {entry.name: entry for entry in (DIGITS, FMNIST)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One data set, as a list of them shows it.

    Parameters
    ----------
    name, title
        Its name, and what it is.
    num_train, num_test, num_classes
        Its training examples, test examples and classes.
    present
        Whether all its files are there; their content is not looked at.
    """

    name: str
    title: str
    num_train: int
    num_test: int
    num_classes: int
    present: bool


def available() -> tuple[str, ...]:
    """Return the names of all data sets, fetched or not."""
    return tuple(CATALOG)


def describe(root: Path | None = None) -> list[Description]:
    """Return one row per data set."""
    return [
        Description(
            name=entry.name,
            title=entry.title,
            num_train=entry.num_train,
            num_test=entry.num_test,
            num_classes=entry.num_classes,
            present=all(entry.locate(file, root) is not None for file in entry.files),
        )
        for entry in CATALOG.values()
    ]


def load(name: str, *, generator: np.random.Generator, root: Path | None = None) -> Dataset:
    """Read a data set into memory, every file checked.

    Parameters
    ----------
    name
        One of :func:`available`.
    generator
        Draws the division into training and test examples where the publisher made none.
    root
        Look for files here and nowhere else; ``None`` for the usual places, see
        :func:`terrafl.data.files.search_folders`.
    """
    return _entry(name).load(generator, root)


def check(name: str, root: Path | None = None) -> list[FileStatus]:
    """Judge every file of a data set by its content."""
    return _entry(name).check(root)


def fetch(
    name: str,
    root: Path | None = None,
    progress: Progress | None = None,
    *,
    source: Source | None = None,
) -> list[Path]:
    """Download the files of a data set that are missing or damaged; return where all are.

    Parameters
    ----------
    name
        One of :func:`available`.
    root
        The folder to fetch into; ``None`` for ``$TERRAFL_DATA`` or the user's cache. A damaged
        file in it is replaced where it lies.
    progress
        Told about every piece that arrives.
    source
        Another place than the official one.
    """
    return fetch_entry(_entry(name), root, progress, source)


def fetch_entry(
    entry: Entry, root: Path | None, progress: Progress | None, source: Source | None
) -> list[Path]:
    """Download the missing and damaged files of an entry; return where all are."""
    from terrafl.data.download import Source, download

    paths = []
    for file, status in zip(entry.files, entry.check(root), strict=True):
        if status.ok and status.path is not None:
            paths.append(status.path)
        elif not entry.base_url:
            raise DataError(status.problem)
        else:
            place = source or Source(base_url=entry.base_url)
            paths.append(download(file, _destination(entry, status, root), place, progress))
    return paths


def _destination(entry: Entry, status: FileStatus, root: Path | None) -> Path:
    # A damaged file of the user's would be found before its replacement: it has to make way.
    # One of the system's would be found after it.
    ours = home(root)
    if status.path is not None and status.path.is_relative_to(ours):
        return status.path
    return ours / entry.folder / status.name


def _entry(name: str) -> Entry:
    if name not in CATALOG:
        known = ", ".join(CATALOG)
        raise ConfigurationError(
            f"dataset must be one of {known}; got {name!r}{suggest(name, CATALOG)}"
        )
    return CATALOG[name]
