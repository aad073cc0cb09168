"""Data sets by name: list, check, fetch and load them.

To add a data set, add a file to :mod:`terrafl.data.sets` and an entry to its ``CATALOG``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from terrafl.data.dataset import Dataset
from terrafl.data.entry import Entry
from terrafl.data.files import FileStatus, Progress
from terrafl.data.npz_dataset import is_npz_path, load_npz
from terrafl.data.sets import CATALOG
from terrafl.errors import require_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One data set, as ``terrafl data list`` shows it.

    Parameters
    ----------
    name, title
        Its name, and what it is.
    num_train, num_test, num_classes
        The numbers of training examples, test examples and classes.
    present
        Whether all its files exist; their content is not checked.
    fetchable
        Whether they can be downloaded from an official source.
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
    """Read or map a data set into memory; every file is verified.

    Parameters
    ----------
    name
        One of :func:`available`, or the path of an ``.npz`` file; see
        :func:`terrafl.data.npz_dataset.load_npz`.
    generator
        Draws the division into training and test examples if the publisher made none.
    root
        The only folder to search; ``None`` for the usual places, see
        :func:`terrafl.folders.search_folders`.
    progress
        Called while files are read that take long the first time.
    """
    if is_npz_path(name):
        return load_npz(Path(name))
    return _entry(name).load(generator, root, progress)


def is_slow(name: str) -> bool:
    """Return whether reading a data set is slow the first time."""
    return not is_npz_path(name) and _entry(name).slow


def check(
    name: str, root: Path | None = None, progress: Progress | None = None
) -> list[FileStatus]:
    """Check the content of every file of a data set; ``progress`` is called after each."""
    return _entry(name).check(root, progress)


def fetch(
    name: str,
    root: Path | None = None,
    progress: Progress | None = None,
    *,
    base_url: str = "",
) -> list[Path]:
    """Download the missing and damaged files of a data set; return the paths of all files.

    Parameters
    ----------
    name
        One of :func:`available`.
    root
        The folder to fetch into; ``None`` for ``$TERRAFL_DATA`` or the user's cache. A damaged
        file in it is replaced; a damaged folder must be deleted first.
    progress
        Called for every piece that is downloaded or unpacked.
    base_url
        The https address of a mirror; empty for the official source.
    """
    from terrafl.data.download import fetch_entry

    return fetch_entry(_entry(name), root, progress, base_url)


def _entry(name: str) -> Entry[Any]:  # Any: each has its own kind of content
    require_known(name, CATALOG, "dataset must be one of")
    return CATALOG[name]
