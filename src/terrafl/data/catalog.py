"""Data sets by name: list, check, fetch and load them.

A further data set is a file in :mod:`terrafl.data.sets` and an entry in :data:`CATALOG`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from terrafl.data.dataset import Dataset
from terrafl.data.entry import Entry
from terrafl.data.files import FileStatus, Progress
from terrafl.data.own import is_own, load_own
from terrafl.data.sets import (
    CIFAR10,
    CIFAR100,
    DIGITS,
    FEMNIST,
    FMNIST,
    HAR,
    TINY_IMAGENET,
    UNIPEN62,
)
from terrafl.errors import ConfigurationError
from terrafl.settings import suggest

if TYPE_CHECKING:
    from terrafl.data.download import Source

__all__ = ["CATALOG", "Description", "available", "check", "describe", "fetch", "is_slow", "load"]

_ENTRIES: tuple[Entry[Any], ...] = (  # Any: each has files of its own kind, and decodes them
    DIGITS,
    FMNIST,
    CIFAR10,
    CIFAR100,
    TINY_IMAGENET,
    FEMNIST,
    UNIPEN62,
    HAR,
)
CATALOG: dict[str, Entry[Any]] = {entry.name: entry for entry in _ENTRIES}  # Any: as above


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
    fetchable
        Whether there is an official source that they can be downloaded from.
    """

    name: str
    title: str
    num_train: int
    num_test: int
    num_classes: int
    present: bool
    fetchable: bool


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
            fetchable=bool(entry.base_url),
        )
        for entry in CATALOG.values()
    ]


def load(
    name: str,
    *,
    generator: np.random.Generator,
    root: Path | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Read or map a data set into memory, every file checked.

    Parameters
    ----------
    name
        One of :func:`available`, or the path of a file of one's own; see
        :func:`terrafl.data.own.load_own`.
    generator
        Draws the division into training and test examples where the publisher made none.
    root
        Look for files here and nowhere else; ``None`` for the usual places, see
        :func:`terrafl.data.files.search_folders`.
    progress
        Told about reading that takes long: a set of many small files, the first time.
    """
    if is_own(name):
        return load_own(Path(name))
    return _entry(name).load(generator, root, progress)


def is_slow(name: str) -> bool:
    """Return whether reading a data set takes long the first time, and little after."""
    return not is_own(name) and _entry(name).slow


def check(
    name: str, root: Path | None = None, progress: Progress | None = None
) -> list[FileStatus]:
    """Judge every file of a data set by its content; ``progress`` is told after each."""
    return _entry(name).check(root, progress)


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
        file in it is replaced where it lies; a damaged tree has to be deleted first.
    progress
        Told about every piece that arrives or is unpacked.
    source
        Another place than the official one.
    """
    from terrafl.data.fetching import fetch_entry

    return fetch_entry(_entry(name), root, progress, source)


def _entry(name: str) -> Entry[Any]:  # Any: as above
    if name not in CATALOG:
        known = ", ".join(CATALOG)
        raise ConfigurationError(
            f"dataset must be one of {known}; got {name!r}{suggest(name, CATALOG)}"
        )
    return CATALOG[name]
