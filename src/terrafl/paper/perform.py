"""Run the cells of a table, within a time budget if one is given, and keep their results.

Tables need a run's summary, configuration and seconds. How long the runs will take is estimated
from one measured round of each method.
"""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from terrafl.errors import DataError, TerraflError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import execute
from terrafl.experiments.sweep import Cell, OnCell, sweep
from terrafl.paper.plan import Planned, ScenarioMethod
from terrafl.runs import RunFolder, Summary, read_events
from terrafl.runs.atomic import write_atomically
from terrafl.runs.events import EvaluationTime, IterationTime, SelectionTime

SECONDS = "seconds.json"

_log = logging.getLogger(__name__)


def keep_results(places: Iterable[PurePosixPath], runs: Path, results: Path) -> None:
    """Copy the summary and the configuration of every finished run.

    A result that exists already and differs is replaced, with a warning. The seconds of a run are
    copied too: the summary, equal for equal runs, cannot hold them.
    """
    for place in places:
        run, kept = RunFolder(runs / place), RunFolder(results / place)
        if not run.is_complete:
            continue
        if kept.summary.exists():
            if kept.summary.read_bytes() == run.summary.read_bytes():
                continue
            _log.warning("%s held another result; this run's result replaces it", kept.path)
        kept.path.mkdir(parents=True, exist_ok=True)
        write_atomically(kept.config, run.config.read_bytes())
        write_atomically(kept.path / SECONDS, json.dumps(seconds_of(run)).encode() + b"\n")
        write_atomically(kept.summary, run.summary.read_bytes())


def seconds_of(run: RunFolder) -> dict[str, float]:
    """Return the seconds that a run spent on training, on choosing clients and on evaluation."""
    # An iteration that was repeated after an interruption counts once.
    spent: dict[str, dict[tuple[int, ...], float]] = {"train": {}, "select": {}, "evaluate": {}}
    for event in read_events(run.timings):
        match event:
            case IterationTime():
                spent["train"][event.round, event.iteration] = event.train_s
            case SelectionTime():
                spent["select"][event.round, event.iteration] = event.seconds
            case EvaluationTime():
                spent["evaluate"][event.round,] = event.seconds
    return {kind: round(sum(seconds.values()), 3) for kind, seconds in spent.items()}


def read_result(results: Path, place: PurePosixPath) -> Summary | None:
    """Return the summary of a run; ``None`` if it was not run."""
    folder = RunFolder(results / place)
    return folder.read_summary() if folder.summary.exists() else None


def read_seconds(results: Path, place: PurePosixPath) -> float | None:
    """Return the seconds that a run spent on training and selection; ``None`` if unknown."""
    file = results / place / SECONDS
    if not file.exists():
        return None
    seconds = json.loads(file.read_bytes())
    return float(seconds["train"] + seconds["select"])


class _BudgetSpentError(TerraflError):
    """The time budget is used up."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The runs that are still to be made.

    Parameters
    ----------
    waiting
        Unfinished runs of every scenario whose data is available.
    expected_s
        Seconds they are expected to take on one core, as far as their methods were measured.
    missing
        Why a scenario cannot be run, by scenario.
    """

    waiting: tuple[Planned, ...]
    expected_s: float
    missing: Mapping[str, str] = field(default_factory=dict)


def prepare(
    planned: Sequence[Planned],
    runs: Path,
    *,
    warm_up: Callable[[RunConfig], None] = lambda config: None,
    deadline: float = math.inf,
) -> Prepared:
    """Find the unfinished runs and estimate their time from one round of each method.

    Parameters
    ----------
    planned
        The runs of a table.
    runs
        Where run folders go.
    warm_up
        Called with a run of each scenario before its methods are measured; does the slow work
        that all of them share. A :class:`~terrafl.errors.DataError` leaves the scenario out.
    deadline
        On :func:`time.monotonic`'s clock; after it nothing more is measured.
    """
    waiting = [cell for cell in planned if not RunFolder(runs / cell.place).is_complete]
    measured: dict[ScenarioMethod, Mapping[str, float]] = {}
    missing: dict[str, str] = {}
    seen: set[str] = set()
    for cell in waiting:
        scenario = cell.column.scenario
        if cell.scenario_method in measured or scenario in missing:
            continue
        if time.monotonic() > deadline:
            break
        try:
            if scenario not in seen:
                seen.add(scenario)
                warm_up(cell.config)
            measured[cell.scenario_method] = calibrate(cell.config, runs)
        except DataError as error:
            missing[scenario] = str(error)
    available = tuple(cell for cell in waiting if cell.column.scenario not in missing)
    expected_s = sum(
        expected_seconds(cell.config, measured[cell.scenario_method])
        for cell in available
        if cell.scenario_method in measured
    )
    return Prepared(available, expected_s, missing)


def perform(
    planned: Sequence[Planned],
    runs: Path,
    results: Path,
    *,
    workers: int,
    deadline: float = math.inf,
    on_round: OnCell = lambda cell, done, total, accuracy: None,
) -> bool:
    """Make the planned runs and keep their results; return whether all of them finished.

    Parameters
    ----------
    planned
        What to run; finished runs are skipped.
    runs
        Where run folders go.
    results
        Where summaries go, as runs finish.
    workers
        How many runs at once.
    deadline
        When to stop, on :func:`time.monotonic`'s clock; unfinished runs can be resumed.
    on_round
        Called after every round of every run.
    """
    places = [cell.place for cell in planned]

    def after_round(cell: Cell, done: int, total: int, accuracy: float | None) -> None:
        on_round(cell, done, total, accuracy)
        if done <= 1:
            keep_results(places, runs, results)  # another run has just finished
        if time.monotonic() > deadline:
            raise _BudgetSpentError("the time budget is used up.")

    cells = [cell.under(runs) for cell in planned]
    try:
        sweep(cells, workers=workers, on_round=after_round)
    except _BudgetSpentError:
        return False
    finally:
        keep_results(places, runs, results)
    return True


def calibrate(config: RunConfig, runs: Path) -> Mapping[str, float]:
    """Measure one round of a method on a scenario, or read the earlier measurement.

    Returns the seconds on one core, as :func:`seconds_of` does.

    Parameters
    ----------
    config
        Any run of the method on the scenario.
    runs
        Where run folders go; the round is kept in ``calibration`` below it.
    """
    one = replace(config, rounds=1, profile="calibration")
    run = RunFolder(runs / "calibration" / f"{one.scenario}-{one.run_name}")
    if not run.is_complete:
        with run:  # raises while another process measures it
            run.discard()
        execute(one, run.path)
    return seconds_of(run)


def expected_seconds(config: RunConfig, measured: Mapping[str, float]) -> float:
    """Return the expected seconds on one core, every round taking as long as the measured one."""
    evaluation_s = measured["evaluate"] / config.eval_every
    return config.rounds * (measured["train"] + measured["select"] + evaluation_s)
