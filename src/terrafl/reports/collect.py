"""Find the finished runs in and below folders."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from terrafl.errors import RunFolderError
from terrafl.runs import RunFolder, Summary


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Parameters
    ----------
    name
        Its folder, relative to the common parent of all folders of the comparison, so that a
        report says nothing about the machine it was made on.
    summary
        Its result.
    folder
        Where its journal is; ``None`` for a run that is known by its numbers alone.
    """

    name: str
    summary: Summary
    folder: RunFolder | None = field(default=None, compare=False, repr=False)


class Unreadable(NamedTuple):
    """A run folder, or a part of it, that cannot be read, and why."""

    name: str
    reason: str

    @classmethod
    def of(cls, name: str, path: Path, error: Exception) -> "Unreadable":
        """Say why, with paths relative to the run folder."""
        return cls(name, str(error).replace(f"{path}/", ""))


def find_runs(paths: Sequence[Path]) -> tuple[list[Run], list[Unreadable]]:
    """Return the finished runs in and below these folders, and those that cannot be read.

    Both are in order of folder.

    Parameters
    ----------
    paths
        Run folders, or folders that contain some at any depth; a run that is found twice counts
        once. Runs that are not finished are left out.

    Raises
    ------
    RunFolderError
        If no run is left.
    """
    folders = sorted({folder for path in paths for folder in _finished_below(path)})
    if not folders:
        raise RunFolderError("a comparison needs at least one run folder; none was given.")
    common = Path(os.path.commonpath(folders))
    above = common.parent if common in folders else common
    runs: list[Run] = []
    unreadable: list[Unreadable] = []
    first_error: RunFolderError | None = None
    for path in folders:
        name, folder = path.relative_to(above).as_posix(), RunFolder(path)
        try:
            runs.append(Run(name, folder.read_summary(), folder))
        except RunFolderError as error:
            unreadable.append(Unreadable.of(name, path, error))
            first_error = first_error or error
    if first_error is not None and not runs:
        raise first_error
    return runs, unreadable


def folders_with(root: Path, name: str) -> list[Path]:
    """Return the folders in and below one that hold a file of this name, sorted.

    Checkpoints are skipped: those of a run under way come and go.
    """
    folders = []
    for folder, below, files in os.walk(root):
        below[:] = [child for child in below if child != "checkpoints"]
        if name in files:
            folders.append(Path(folder))
    return sorted(folders)


def require_folder(path: Path, kind: str) -> None:
    """Refuse a path that is not a folder; ``kind`` says which folder it must be."""
    if not path.is_dir():
        raise RunFolderError(
            f"{path} must be {kind}; "
            f"{'it is a file' if path.exists() else 'it does not exist'}: check the path."
        )


def _finished_below(path: Path) -> list[Path]:
    require_folder(path, "a run folder or a folder that contains some")
    finished = folders_with(path.resolve(), RunFolder(path).summary.name)
    if not finished:
        started = folders_with(path, RunFolder(path).config.name)
        next_step = f"terrafl resume {started[0]}" if started else "terrafl run"
        raise RunFolderError(f"{path} holds no finished run; make or finish one: {next_step}.")
    return finished
