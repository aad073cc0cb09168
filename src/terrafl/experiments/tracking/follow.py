"""Read what a run writes, as it writes it, and tell a tracker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from terrafl.experiments.config import read_configuration
from terrafl.experiments.tracking.metrics import RoundMetrics, of_summary, parameters
from terrafl.experiments.tracking.protocol import MakeTracker
from terrafl.runs import RunFolder

__all__ = ["Follower"]

Event = dict[str, Any]  # Any: what JSON can hold


class _Lines:
    """The whole lines of a growing file, each once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def new(self) -> Iterator[Event]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # being written
                self._read += len(line)
                yield json.loads(line)


class Follower:
    """Tell one tracker of one run, each completed round once.

    Made when a round of this start of the run is complete, so that a journal which a crash had
    left too long has been cut by then.

    Parameters
    ----------
    folder
        The run.
    make
        Makes the tracker.
    """

    def __init__(self, folder: RunFolder, make: MakeTracker) -> None:
        self._folder = folder
        self._journal, self._timings = _Lines(folder.journal), _Lines(folder.timings)
        self._rounds: dict[int, RoundMetrics] = {}
        self._seconds: dict[int, float] = {}  # of training and evaluation, up to a round's end
        self._began = folder.config.stat().st_mtime
        self._tracker = make(folder.path)
        self._tracker.start(parameters(read_configuration(folder.config)))

    def update(self, rounds_done: int) -> None:
        """Tell of the rounds completed since the last call."""
        for event in self._journal.new():
            if "round" in event:
                self._rounds.setdefault(event["round"], RoundMetrics()).hear(event)
        total = max(self._seconds.values(), default=0.0)
        for event in self._timings.new():
            total += event.get("train_s", 0.0) + event.get("seconds", 0.0)
            self._seconds[event["round"]] = total
        for number in sorted(self._rounds):
            if number < rounds_done:
                at = self._began + self._seconds.get(number, total)
                self._tracker.measure(number + 1, self._rounds.pop(number).values, at=at)

    def finish(self) -> None:
        """Tell what came out, and draw it."""
        from terrafl.reports.comparison import compare_runs
        from terrafl.reports.figures import draw_figures
        from terrafl.reports.sections import make_sections

        summary = self._folder.read_summary()
        self.update(summary.rounds)
        (section,) = make_sections(compare_runs([self._folder.path]))
        self._tracker.finish(of_summary(summary), draw_figures(section))

    def close(self) -> None:
        """Let the tracker write down what it heard."""
        self._tracker.close()
