"""The runs below some folders, read while they are written."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from terrafl.errors import RunFolderError
from terrafl.reports.collect import Run, Unreadable, folders_with, require_folder
from terrafl.reports.sections import Settings, Study, settings_of
from terrafl.reports.trace import Trace
from terrafl.runs import RunFolder, Summary, Tail

QUIET_S = 30.0
"""Seconds without news after which a run that is not finished counts as quiet."""


@dataclass(slots=True, eq=False)
class WatchedRun:
    """One run and what has been read of it.

    Parameters
    ----------
    number
        Names it to the page.
    name
        Its folder, relative to what is watched.
    folder
        Where it is.
    initial
        Its summary when it started.
    settings
        Its configuration by dotted name.
    """

    number: int
    name: str
    folder: RunFolder
    initial: Summary
    settings: Settings
    trace: Trace = field(default_factory=Trace)
    version: int = 0
    generation: int = 0
    _journal: Tail = field(init=False)
    _timings: Tail = field(init=False)
    _last_news: float = field(default_factory=time.monotonic)
    _finished: bool = False
    _summary_problem: str = ""

    def __post_init__(self) -> None:
        self._journal, self._timings = Tail(self.folder.journal), Tail(self.folder.timings)

    def poll(self) -> None:
        """Read what has been written since the last time."""
        restarted, events = self._journal.read()
        if restarted:
            self.trace, self._timings = Trace(), Tail(self.folder.timings)
            self.generation += 1
        for event in (*self._timings.read().events, *events):
            self.trace.add(event)
        finished = self.folder.is_complete
        if restarted or events or finished != self._finished:
            self.version += 1
            self._last_news = time.monotonic()
        self._finished = finished

    @property
    def status(self) -> str:
        """One word: finished, running, or quiet when there was no news for a while."""
        if self._finished:
            return "finished"
        return "running" if time.monotonic() - self._last_news < QUIET_S else "quiet"

    @property
    def done(self) -> int:
        """Rounds done."""
        begun = self.trace.steps[-1].round if self.trace.steps else 0
        evaluated = self.trace.evaluations[-1].round + 1 if self.trace.evaluations else 0
        return max(begun, evaluated)

    @property
    def problem(self) -> str:
        """The first thing in the folder that cannot be read; empty where there is none."""
        return self._summary_problem or self._journal.problem or self._timings.problem

    def study(self) -> Study:
        """Return the run as a report would show it now."""
        return Study(Run(self.name, self._summary(), self.folder), self.trace, self.settings)

    def _summary(self) -> Summary:
        if self._finished:
            try:
                return self.folder.read_summary()
            except RunFolderError as error:
                self._summary_problem = Unreadable.of(self.name, self.folder.path, error).reason
        evaluations = self.trace.evaluations
        if not evaluations:
            return self.initial
        points = self.trace.points()
        newest = points[-10:]
        return replace(
            self.initial,
            rounds=self.done,
            **asdict(evaluations[-1].costs),
            accuracy=points[-1].accuracy,
            accuracy_participating=evaluations[-1].accuracy_participating,
            best=max(point.accuracy for point in points),
            mean_last_ten=sum(point.accuracy for point in newest) / len(newest),
            curve=tuple(points),
            metric=evaluations[-1].metric,
        )


@dataclass(slots=True, eq=False)
class Watched:
    """All runs in and below some folders, including those that start later.

    Parameters
    ----------
    paths
        The folders; they must exist, but may be empty.
    """

    paths: Sequence[Path]
    runs: dict[Path, WatchedRun] = field(default_factory=dict)
    _unreadable: dict[Path, Unreadable] = field(default_factory=dict)
    _started: int = 0

    def __post_init__(self) -> None:
        for path in self.paths:
            require_folder(path, "a folder that runs are in, or will be")

    def poll(self) -> None:
        """Find new runs, forget those whose folder is gone, and read on in the others.

        Each folder is read by itself: one that cannot be read does not stop the others.
        """
        roots = [path.resolve() for path in self.paths]
        folders = sorted({path for root in roots for path in folders_with(root, "config.toml")})
        for path in set(self.runs) - set(folders):
            del self.runs[path]
        common = Path(os.path.commonpath(roots))
        self._unreadable = {}
        for path in folders:
            name = path.relative_to(common).as_posix() if path != common else path.name
            try:
                self._read(path, name)
            except (OSError, RunFolderError) as error:
                self._unreadable[path] = Unreadable.of(name, path, error)

    @property
    def unreadable(self) -> list[Unreadable]:
        """The folders that cannot be read, or that hold something damaged."""
        damaged = {
            p: Unreadable(run.name, run.problem) for p, run in self.runs.items() if run.problem
        }
        both = damaged | self._unreadable
        return [both[path] for path in sorted(both)]

    def _read(self, path: Path, name: str) -> None:
        if path not in self.runs:
            folder = RunFolder(path)
            initial, settings = Summary.initial(folder.config), settings_of(folder)
            self.runs[path] = WatchedRun(self._started, name, folder, initial, settings)
            self._started += 1
        self.runs[path].poll()
