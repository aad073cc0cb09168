"""The runs below some folders, followed as they go on."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from terrafl.errors import RunFolderError, UserError
from terrafl.reports.collect import Run, folders_with
from terrafl.reports.live.tail import Tail
from terrafl.reports.resolved import Settings, read_settings
from terrafl.reports.sections import Study
from terrafl.reports.trace import Trace, take_in
from terrafl.runs import Point, RunFolder, Summary

__all__ = ["Describe", "Watched", "WatchedRun"]

Describe = Callable[[RunFolder], Summary]
"""Says what a run is that has no result yet."""

QUIET_S = 30.0
"""Seconds without news after which a run that is not finished counts as quiet."""


@dataclass(slots=True, eq=False)
class WatchedRun:
    """One run and all that has been read of it.

    Parameters
    ----------
    number
        Names it to the page.
    name
        Its folder, relative to what is watched.
    folder
        Where it is.
    opening
        What it is.
    """

    number: int
    name: str
    folder: RunFolder
    opening: Summary
    settings: Settings
    trace: Trace = field(default_factory=Trace)
    version: int = 0
    generation: int = 0
    _journal: Tail = field(init=False)
    _timings: Tail = field(init=False)
    _last_news: float = field(default_factory=time.monotonic)
    _finished: bool = False

    def __post_init__(self) -> None:
        self._journal, self._timings = Tail(self.folder.journal), Tail(self.folder.timings)

    def poll(self) -> None:
        """Read what has been written since the last time."""
        afresh, events = self._journal.read()
        if afresh:
            self.trace, self._timings = Trace(), Tail(self.folder.timings)
            self.generation += 1
        timings = self._timings.read()[1]
        for take, news in ((self.trace.time, timings), (self.trace.add, events)):
            for event in news:
                with contextlib.suppress(RunFolderError):  # the report will say so
                    take_in(take, event, self.name)
        finished = self.folder.is_complete
        if afresh or events or finished != self._finished:
            self.version += 1
            self._last_news = time.monotonic()
        self._finished = finished

    @property
    def status(self) -> str:
        """One word: finished, running, or quiet when nothing was heard for a while."""
        if self._finished:
            return "finished"
        return "running" if time.monotonic() - self._last_news < QUIET_S else "quiet"

    @property
    def done(self) -> int:
        """Rounds done."""
        begun = self.trace.steps[-1].round if self.trace.steps else 0
        evaluated = self.trace.evaluations[-1].round if self.trace.evaluations else 0
        return max(begun, evaluated)

    def study(self) -> Study:
        """Return the run as a report would read it now."""
        return Study(Run(self.name, self._summary(), self.folder), self.trace, self.settings)

    def _summary(self) -> Summary:
        if self._finished:
            with contextlib.suppress(RunFolderError):
                return self.folder.read_summary()
        known = self.trace.evaluations
        if not known:
            return self.opening
        points = [
            Point(
                e.round,
                e.costs.get("client_updates", 0),
                e.costs.get("samples_trained", 0),
                e.accuracy,
            )
            for e in known
        ]
        newest = points[-10:]
        costs: dict[str, Any] = {**known[-1].costs}  # Any: mypy cannot tell which fields
        return replace(
            self.opening,
            rounds=self.done,
            **costs,
            accuracy=points[-1].accuracy,
            accuracy_participating=known[-1].participating,
            best=max(point.accuracy for point in points),
            mean_last_ten=sum(point.accuracy for point in newest) / len(newest),
            curve=tuple(points),
        )


@dataclass(slots=True, eq=False)
class Watched:
    """All runs in and below some folders, those that start later included.

    Parameters
    ----------
    paths
        The folders; they must exist, but may be empty.
    describe
        Says what a run is before it has a result.
    """

    paths: Sequence[Path]
    describe: Describe
    runs: dict[Path, WatchedRun] = field(default_factory=dict)
    _started: int = 0

    def __post_init__(self) -> None:
        for path in self.paths:
            if not path.is_dir():
                raise RunFolderError(
                    f"{path} must be a folder that runs are in, or will be; "
                    f"{'it is a file' if path.exists() else 'it does not exist'}: check the path."
                )

    def poll(self) -> None:
        """Find new runs, forget those whose folder is gone, and read on in the others."""
        roots = [path.resolve() for path in self.paths]
        found = sorted({path for root in roots for path in folders_with(root, "config.toml")})
        for path in set(self.runs) - set(found):
            del self.runs[path]
        common = Path(os.path.commonpath(roots))
        for path in found:
            if path not in self.runs:
                self._begin(path, common)
        for run in self.runs.values():
            run.poll()

    def _begin(self, path: Path, common: Path) -> None:
        folder = RunFolder(path)
        try:
            opening, settings = self.describe(folder), read_settings(folder)
        except UserError:
            return  # not a run of ours, or not wholly written yet
        name = path.relative_to(common).as_posix() if path != common else path.name
        self.runs[path] = WatchedRun(self._started, name, folder, opening, settings)
        self._started += 1
