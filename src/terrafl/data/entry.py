"""A data set that terrafl knows: its files, where to look, and how to read them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from terrafl.data.archive import Archive
from terrafl.data.dataset import Dataset
from terrafl.data.files import Described, FileStatus, Progress, Published, home
from terrafl.errors import DataError

__all__ = ["Entry"]

Content = TypeVar("Content")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[Content]):
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
    decode
        Turn the content of every file, by name, into a data set; the generator draws the
        division into training and test examples where the publisher made none.
    base_url
        Where the files, or the archive, are published, over https; empty where they are not.
    folder
        The subfolder that fetched files go into.
    other_way
        What to do about a missing or damaged file other than fetch it, as the end of a sentence;
        ``{home}`` stands for the user's folder. Empty where there is no other way.
    archive
        What the files are published in, under ``folder``, or a tree under its own name; ``None``
        where each is by itself.
    original
        The one file that is fetched into ``folder`` and read as it is, where what is read may
        lie there in other forms too; ``None`` where it may not.
    slow
        Whether reading takes long the first time, after which arrays are kept beside the files.
    """

    name: str
    title: str
    num_train: int
    num_test: int
    num_classes: int
    files: tuple[Published[Content], ...]
    folders: Callable[[Path | None], tuple[Path, ...]]
    decode: Callable[[Mapping[str, Content], np.random.Generator], Dataset]
    base_url: str = ""
    folder: str = ""
    other_way: str = ""
    archive: Archive | None = None
    original: Archive | None = None
    slow: bool = False

    def locate(self, file: Published[Content], root: Path | None) -> Path | None:
        """Return where a file is, right or wrong; ``None`` where it is missing."""
        found = map(file.find, self.folders(root))
        return next((path for path in found if path is not None), None)

    def load(
        self, generator: np.random.Generator, root: Path | None, progress: Progress | None = None
    ) -> Dataset:
        """Read the data set, every file checked."""
        contents = {file.name: self._content(file, root, progress) for file in self.files}
        return self.decode(contents, generator)

    def check(self, root: Path | None, progress: Progress | None = None) -> list[FileStatus]:
        """Judge every file; ``progress`` is told after each."""
        judged = []
        for file in self.files:
            judged.append(self._judge(file, root))
            if progress is not None:
                progress(self.name, len(judged), len(self.files))
        return judged

    def _content(
        self, file: Published[Content], root: Path | None, progress: Progress | None
    ) -> Content:
        path = self.locate(file, root)
        if path is None:
            raise DataError(self._missing(file, root))
        try:
            return file.read(path, progress)
        except DataError as error:
            raise DataError(self._damaged(error, root)) from error

    def _judge(self, file: Published[Content], root: Path | None) -> FileStatus:
        path, problem, note = self.locate(file, root), "", ""
        try:
            if path is None:
                problem = self._missing(file, root)
            elif isinstance(file, Described):
                note = file.describe(path)
            else:
                file.verify(path)
        except DataError as error:
            problem = self._damaged(error, root)
        return FileStatus(
            name=file.name,
            path=path,
            size=path.stat().st_size if path and path.is_file() else None,
            ok=not problem,
            problem=problem,
            note=note,
        )

    def _damaged(self, error: DataError, root: Path | None) -> str:
        return f"{self.name}: {error} Delete it. {self._remedy(root)}"

    def _missing(self, file: Published[Content], root: Path | None) -> str:
        places = ", ".join(map(str, self.folders(root))) or "no folder"
        return (
            f"{self.name} needs {file.name}, which is missing; looked for in {places}. "
            f"{self._remedy(root)}"
        )

    def _remedy(self, root: Path | None) -> str:
        """Return what to do about a missing or damaged file: one sentence."""
        where = f" --root {shlex.quote(str(root))}" if root else ""
        ways = [f"run `terrafl data fetch {self.name}{where}`"] if self.base_url else []
        if self.other_way:
            ways.append(self.other_way.format(home=home(root)))
        remedy = ", or ".join(ways)
        return f"{remedy[:1].upper()}{remedy[1:]}."
