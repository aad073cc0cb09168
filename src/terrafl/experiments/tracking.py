"""Show runs in TensorBoard or another tracker; the numbers come from the journal.

Another tracker is a class with the four methods of :class:`Tracker`, passed as
``track=lambda folder: Mine(...)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from terrafl.errors import ConfigurationError, require_known
from terrafl.experiments.run import OnRound
from terrafl.runs import RunFolder, Tail, events
from terrafl.runs.config_file import read_settings

if TYPE_CHECKING:
    from terrafl.reports.looks import Pictures

Parameter = str | int | float | bool


class Tracker(Protocol):
    """Shows one run in another program.

    A resumed run gets a new tracker, which receives all rounds from the first on. A tracker
    that keeps data must delete that of an earlier one when it is made.
    """

    def start(self, parameters: Mapping[str, Parameter]) -> None:
        """Receive the settings by dotted name; always the first call."""
        ...

    def measure(self, step: int, values: Mapping[str, float], *, at: float) -> None:
        """Receive one round: rounds completed, numbers by name, seconds since 1970."""
        ...

    def finish(self, values: Mapping[str, float], figures: Mapping[str, Pictures]) -> None:
        """Receive the results of the finished run and the figures of its report.

        An interrupted run has no such call.
        """
        ...

    def close(self) -> None:
        """Write everything to disk; always the last call."""
        ...


MakeTracker = Callable[[Path], Tracker]
"""Make a tracker for the run in a folder."""


_COUNTS = ("round/iterations", "round/client_updates", "round/reports_refused")
_RESULTS = (
    *("accuracy", "accuracy_participating", "best", "mean_last_ten", "client_updates"),
    *("samples_trained", "loss_queries", "bytes_down", "bytes_up", "reports_refused"),
)


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
        self._rounds: dict[int, dict[str, float]] = {}  # numbers by name
        self._passed = 0  # rounds
        self._seconds: dict[int, float] = {}  # of training and evaluation, up to a round's end
        self._began = folder.config.stat().st_mtime
        self._tracker = make(folder.path)
        self._tracker.start(parameters(read_settings(folder.config)))

    def update(self, rounds_done: int) -> None:
        """Pass on the rounds completed since the last call."""
        restarted, new_events = self._journal.read()
        if restarted:  # cut back to its checkpoint
            self._rounds.clear()
        for event in new_events:
            number = getattr(event, "round", -1)
            if number >= self._passed:
                _add(event, self._rounds.setdefault(number, dict.fromkeys(_COUNTS, 0.0)))
        total = self._read_seconds()
        for number in sorted(self._rounds):
            if number < rounds_done:
                at = self._began + self._seconds.get(number, total)
                self._tracker.measure(number + 1, self._rounds.pop(number), at=at)
                self._passed = number + 1

    def _read_seconds(self) -> float:
        """Read the timings; return the seconds in all."""
        total = max(self._seconds.values(), default=0.0)
        for event in self._timings.read().events:
            match event:
                case events.IterationTime():
                    total += event.train_s
                case events.SelectionTime() | events.EvaluationTime():
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
        results = {
            f"result/{name.replace('accuracy', summary.metric)}": float(getattr(summary, name))
            for name in _RESULTS
        }
        self._tracker.finish(results, draw_figures(section))

    def close(self) -> None:
        """Let the tracker write everything to disk."""
        self._tracker.close()


def _add(event: events.Event, values: dict[str, float]) -> None:
    """Add one event of the journal to the numbers of its round."""
    match event:
        case events.Cohort():
            values["round/iterations"] += 1
            values["round/client_updates"] += len(event.clients)
        case events.Refused():
            values["round/reports_refused"] += 1
        case events.Evaluation():
            values |= {
                f"{event.metric}/pooled": event.accuracy,
                f"{event.metric}/participating": event.accuracy_participating,
                "cost/client_updates": event.costs.client_updates,
                "cost/samples_trained": event.costs.samples_trained,
            }
            if event.loss is not None:
                values["loss/pooled"] = event.loss
        case events.Split():
            # A round's first split is of all clients drawn; later ones see hard clients only.
            if event.iteration == 0 and event.measure == "update_norm":
                norms = [client.value for client in event.clients]
                values["selection/update_norm_mean"] = sum(norms) / len(norms)
                values["selection/update_norm_max"] = max(norms)
            values["selection/hard_clients"] = len(event.hard)


def parameters(settings: Mapping[str, object]) -> dict[str, Parameter]:
    """Return settings as a tracker can show them: lists are written as text.

    Examples
    --------
    >>> parameters({"rounds": 5, "model.hidden": [64]})
    {'rounds': 5, 'model.hidden': '[64]'}
    """
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in settings.items()
    }


def _tensorboard() -> MakeTracker:
    try:
        from terrafl.experiments.tensorboard import TensorBoard
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
