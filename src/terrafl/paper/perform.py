"""Run the cells of a table, within a time budget if one is given.

How long they will take is estimated from one measured round of each method.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from terrafl.errors import DataError, TerraflError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import execute
from terrafl.experiments.sweep import Cell, OnCell, sweep
from terrafl.paper.plan import Planned, ScenarioMethod
from terrafl.paper.results import keep_results, seconds_of
from terrafl.runs import RunFolder


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

    Returns the seconds on one core, as :func:`~terrafl.paper.results.seconds_of` does.

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
