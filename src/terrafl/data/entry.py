"""A data set of the catalog: its files, where to search them, and how to read them."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from terrafl.data.archives import Archive
from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.files import DataFile, FileStatus, Progress, Published
from terrafl.errors import DataError
from terrafl.folders import home, search_folders

Content = TypeVar("Content")
Decoded = tuple[Examples, Examples, Normalisation]
"""Training examples, test examples, and how inputs are normalised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[Content]):
    """One data set of the catalog.

    Parameters
    ----------
    name
        The name used in configuration files and on the command line.
    title
        What it is, in a few words.
    num_train, num_test, num_classes
        The numbers of training examples, test examples and classes.
    files
        The files that are read.
    decode
        Turn the content of every file, by name, into examples; the generator draws the division
        into training and test examples if the publisher made none.
    subfolders
        Names of the folder that holds the files in the user's folders; files are fetched into the
        first. Empty for a data set that is shipped with the package.
    system
        Further folders: where operating systems, or this package, install the files.
    base_url
        Where the files, or the archive, are published, over https; empty if they are not.
    alternative
        What to do about a missing or damaged file other than fetch it, as the end of a sentence;
        ``{home}`` stands for the user's folder. Empty if there is no alternative.
    archive
        The archive that the files are published in; ``None`` if they are published one by one.
    original
        The published file that is fetched into the first subfolder and read as it is, if other
        forms of it can be read, too; otherwise ``None``.
    slow
        Whether reading is slow the first time; later, arrays kept beside the files are read.
    """

    name: str
    title: str
    num_train: int
    num_test: int
    num_classes: int
    files: tuple[Published[Content], ...]
    decode: Callable[[Mapping[str, Content], np.random.Generator], Decoded]
    subfolders: tuple[str, ...] = ()
    system: tuple[Path, ...] = ()
    base_url: str = ""
    alternative: str = ""
    archive: Archive | None = None
    original: DataFile | None = None
    slow: bool = False

    def folders(self, root: Path | None) -> tuple[Path, ...]:
        """Return where the files are searched, in this order, given the user's folder."""
        if not self.subfolders:
            return self.system
        return search_folders(root, self.subfolders, self.system)

    def locate(self, file: Published[Content], root: Path | None) -> Path | None:
        """Return where a file is, valid or not; ``None`` if it is missing."""
        paths = map(file.find, self.folders(root))
        return next((path for path in paths if path is not None), None)

    def load(
        self, generator: np.random.Generator, root: Path | None, progress: Progress | None = None
    ) -> Dataset:
        """Read the data set; every file is verified."""
        contents = {}
        for file in self.files:
            with self._located(file, root) as path:
                contents[file.name] = file.read(path, progress)
        train, test, normalisation = self.decode(contents, generator)
        return Dataset(
            name=self.name,
            train=train,
            test=test,
            num_classes=self.num_classes,
            normalisation=normalisation,
        )

    def check(self, root: Path | None, progress: Progress | None = None) -> list[FileStatus]:
        """Check every file; ``progress`` is called after each."""
        statuses = []
        for file in self.files:
            statuses.append(self._status(file, root))
            if progress is not None:
                progress(self.name, len(statuses), len(self.files))
        return statuses

    def _status(self, file: Published[Content], root: Path | None) -> FileStatus:
        path, problem, note = self.locate(file, root), "", ""
        try:
            with self._located(file, root) as located:
                note = file.verify(located)
        except DataError as error:
            problem = str(error)
        size = path.stat().st_size if path and path.is_file() else None
        return FileStatus(
            name=file.name, path=path, size=size, ok=not problem, problem=problem, note=note
        )

    @contextmanager
    def _located(self, file: Published[Content], root: Path | None) -> Iterator[Path]:
        """Yield the path of a file; an error in the block names the remedy."""
        path = self.locate(file, root)
        if path is None:
            places = ", ".join(map(str, self.folders(root)))
            raise DataError(
                f"{self.name} needs {file.name}, which is missing; searched in {places}. "
                f"{self._remedy(root)}"
            )
        try:
            yield path
        except DataError as error:
            raise DataError(f"{self.name}: {error} Delete it. {self._remedy(root)}") from error

    def _remedy(self, root: Path | None) -> str:
        """Return what to do about a missing or damaged file: one sentence."""
        where = f" --root {shlex.quote(str(root))}" if root else ""
        ways = [f"run `terrafl data fetch {self.name}{where}`"] if self.base_url else []
        if self.alternative:
            ways.append(self.alternative.format(home=home(root)))
        remedy = ", or ".join(ways)
        return f"{remedy[:1].upper()}{remedy[1:]}."
