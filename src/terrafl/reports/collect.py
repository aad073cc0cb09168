"""Find the finished runs in and below folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from terrafl.errors import RunFolderError
from terrafl.runs import RunFolder, Summary

__all__ = ["Run", "find_runs", "folders_with"]


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Parameters
    ----------
    name
        Its folder, relative to what all folders of the comparison have in common, so that a
        report says nothing about the machine it was made on.
    summary
        What came out.
    folder
        Where its journal is; ``None`` for a run that is known by its numbers alone.
    """

    name: str
    summary: Summary
    folder: RunFolder | None = field(default=None, compare=False, repr=False)


def find_runs(paths: Sequence[Path]) -> tuple[Run, ...]:
    """Return every finished run in and below these folders, in order of folder.

    Parameters
    ----------
    paths
        Run folders, or folders that contain some at any depth; what two of them share counts
        once. Runs that are not finished are left out.
    """
    folders = sorted({folder for path in paths for folder in _finished_below(path)})
    if not folders:
        raise RunFolderError("a comparison needs at least one run folder; none was given.")
    common = Path(os.path.commonpath(folders))
    above = common.parent if common in folders else common
    return tuple(
        Run(path.relative_to(above).as_posix(), folder.read_summary(), folder)
        for path, folder in ((path, RunFolder(path)) for path in folders)
    )


def folders_with(root: Path, name: str) -> list[Path]:
    """Return the folders in and below one that hold a file of this name, sorted.

    Checkpoints are not looked into: of a run under way they come and go.
    """
    found = []
    for folder, below, files in os.walk(root):
        below[:] = [child for child in below if child != "checkpoints"]
        if name in files:
            found.append(Path(folder))
    return sorted(found)


def _finished_below(path: Path) -> list[Path]:
    if not path.is_dir():
        raise RunFolderError(
            f"{path} must be a run folder or a folder that contains some; "
            f"{'it is a file' if path.exists() else 'it does not exist'}: check the path."
        )
    found = folders_with(path.resolve(), RunFolder(path).summary.name)
    if not found:
        started = folders_with(path, RunFolder(path).config.name)
        next_step = f"terrafl resume {started[0]}" if started else "terrafl run"
        raise RunFolderError(f"{path} holds no finished run; make or finish one: {next_step}.")
    return found
