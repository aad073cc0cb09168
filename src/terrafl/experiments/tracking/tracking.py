"""Trackers by name, and any number of runs that they track while they run."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Self

from terrafl.errors import ConfigurationError, require_known
from terrafl.experiments.run import OnRound
from terrafl.experiments.tracking.journal_follower import JournalFollower
from terrafl.experiments.tracking.protocol import MakeTracker
from terrafl.runs import RunFolder


def _tensorboard() -> MakeTracker:
    try:
        from terrafl.experiments.tracking.tensorboard import TensorBoard
    except ImportError as error:
        raise ConfigurationError(
            "tracking with tensorboard needs the package tensorboard, which is not installed: "
            "pip install 'terrafl[tensorboard]'."
        ) from error
    return TensorBoard


TRACKERS: dict[str, Callable[[], MakeTracker]] = {"tensorboard": _tensorboard}


class Tracking:
    """Pass runs to trackers while they run; a context manager around the runs.

    Parameters
    ----------
    track
        A tracker's name, a function that makes one for a run's folder, or ``None`` for no tracking.
    """

    def __init__(self, track: str | MakeTracker | None) -> None:
        if isinstance(track, str):
            require_known(track, TRACKERS, "track must be one of")
            track = TRACKERS[track]()  # loads its library
        self._make = track
        self._followers: dict[Path, JournalFollower] = {}
        self._finished: set[Path] = set()

    def update(self, folder: Path, rounds_done: int) -> None:
        """Note that a run has completed so many rounds."""
        if self._make is None or folder in self._finished:
            return
        if folder not in self._followers:
            self._finish()  # a sweep of many runs keeps only those under way open
            self._followers[folder] = JournalFollower(RunFolder(folder), self._make)
        self._followers[folder].update(rounds_done)

    def following(self, folder: Path, on_round: OnRound) -> OnRound:
        """Return a function that calls ``on_round`` and notes the completed rounds."""

        def hear(done: int, planned: int, accuracy: float | None) -> None:
            on_round(done, planned, accuracy)
            self.update(folder, done)

        return hear

    def _finish(self) -> None:
        for path in [p for p in self._followers if RunFolder(p).is_complete]:
            with closing(self._followers.pop(path)) as follower:
                follower.finish()
            self._finished.add(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for follower in self._followers.values():
                follower.close()
