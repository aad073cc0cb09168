"""A data set that terrafl knows: its files, where to look, and how to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from terrafl.data.dataset import Dataset
from terrafl.data.files import DataFile, FileStatus
from terrafl.errors import DataError

__all__ = ["Entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One data set of the catalogue.

    Parameters
    ----------
    name
        The name used in configuration files and on the command line.
    title
        What it is, in a few words.
    num_train, num_test, num_classes
        Its training examples, test examples and classes.
    files
        What it is made of.
    folders
        Return where the files are looked for, the first first, given the user's own folder.
    remedy
        What to do when a file is missing or damaged: one sentence.
    decode
        Turn the content of every file, by name, into a data set; the generator draws the
        division into training and test examples where the publisher made none.
    base_url
        Where the files are published, over https; empty where they come with a package.
    folder
        The subfolder that fetched files go into.
    """

    name: str
    title: str
    num_train: int
    num_test: int
    num_classes: int
    files: tuple[DataFile, ...]
    folders: Callable[[Path | None], tuple[Path, ...]]
    remedy: str
    decode: Callable[[Mapping[str, bytes], np.random.Generator], Dataset]
    base_url: str = ""
    folder: str = ""

    def locate(self, file: DataFile, root: Path | None) -> Path | None:
        """Return where a file is, right or wrong; ``None`` where it is missing."""
        candidates = (folder / file.name for folder in self.folders(root))
        return next((path for path in candidates if path.is_file()), None)

    def load(self, generator: np.random.Generator, root: Path | None) -> Dataset:
        """Read the data set, every file checked."""
        contents = {f.name: self._content(f, self.locate(f, root), root) for f in self.files}
        return self.decode(contents, generator)

    def check(self, root: Path | None) -> list[FileStatus]:
        """Judge every file."""
        return [self._judge(file, self.locate(file, root), root) for file in self.files]

    def _content(self, file: DataFile, path: Path | None, root: Path | None) -> bytes:
        if path is None:
            raise DataError(self._missing(file, root))
        try:
            return file.read(path)
        except DataError as error:
            raise DataError(f"{self.name}: {error} Delete it. {self.remedy}") from error

    def _judge(self, file: DataFile, path: Path | None, root: Path | None) -> FileStatus:
        problem = ""
        try:
            self._content(file, path, root)
        except DataError as error:
            problem = str(error)
        size = path.stat().st_size if path else None
        return FileStatus(name=file.name, path=path, size=size, ok=not problem, problem=problem)

    def _missing(self, file: DataFile, root: Path | None) -> str:
        places = ", ".join(map(str, self.folders(root))) or "no folder"
        return (
            f"{self.name} needs the file {file.name}, which is missing; "
            f"looked for in {places}. {self.remedy}"
        )
