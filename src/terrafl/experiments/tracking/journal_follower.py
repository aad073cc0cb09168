"""Read the journal of a run while it is written, and pass it to a tracker."""

from __future__ import annotations

from terrafl.experiments.tracking.metrics import RoundMetrics, parameters, summary_metrics
from terrafl.experiments.tracking.protocol import MakeTracker
from terrafl.runs import RunFolder, Tail
from terrafl.runs.config_file import read_settings
from terrafl.runs.events import EvaluationTime, IterationTime, SelectionTime

__all__ = ["JournalFollower"]


class JournalFollower:
    """Pass one run to one tracker, each completed round once.

    Parameters
    ----------
    folder
        The run.
    make
        Makes the tracker.
    """

    def __init__(self, folder: RunFolder, make: MakeTracker) -> None:
        self._folder = folder
        self._journal, self._timings = Tail(folder.journal), Tail(folder.timings)
        self._rounds: dict[int, RoundMetrics] = {}
        self._passed = 0  # rounds
        self._seconds: dict[int, float] = {}  # of training and evaluation, up to a round's end
        self._began = folder.config.stat().st_mtime
        self._tracker = make(folder.path)
        self._tracker.start(parameters(read_settings(folder.config)))

    def update(self, rounds_done: int) -> None:
        """Pass on the rounds completed since the last call."""
        restarted, events = self._journal.read()
        if restarted:  # cut back to its checkpoint
            self._rounds.clear()
        for event in events:
            number = getattr(event, "round", -1)
            if number >= self._passed:
                self._rounds.setdefault(number, RoundMetrics()).add(event)
        total = self._read_seconds()
        for number in sorted(self._rounds):
            if number < rounds_done:
                at = self._began + self._seconds.get(number, total)
                self._tracker.measure(number + 1, self._rounds.pop(number).values, at=at)
                self._passed = number + 1

    def _read_seconds(self) -> float:
        """Read the timings; return the seconds in all."""
        total = max(self._seconds.values(), default=0.0)
        for event in self._timings.read().events:
            match event:
                case IterationTime():
                    total += event.train_s
                case SelectionTime() | EvaluationTime():
                    total += event.seconds
                case _:
                    continue
            self._seconds[event.round] = total
        return total

    def finish(self) -> None:
        """Pass on the results and the figures."""
        from terrafl.reports.comparison import compare_runs
        from terrafl.reports.figures import draw_figures
        from terrafl.reports.sections import make_sections

        summary = self._folder.read_summary()
        self.update(summary.rounds)
        (section,) = make_sections(compare_runs([self._folder.path]))
        self._tracker.finish(summary_metrics(summary), draw_figures(section))

    def close(self) -> None:
        """Let the tracker write everything to disk."""
        self._tracker.close()
