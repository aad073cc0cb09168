"""Run the cells of a table, within a budget of time if there is one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from terrafl.data.files import Progress
from terrafl.engine.features import OnImages
from terrafl.errors import DataError, TerraflError
from terrafl.experiments.backbone import compute_features, read_data
from terrafl.experiments.sweep import Cell, OnCell, sweep
from terrafl.paper.estimate import Pace, calibrate, expected_seconds
from terrafl.paper.plan import Planned
from terrafl.paper.results import export
from terrafl.runs import RunFolder

__all__ = ["Prepared", "perform", "prepare"]


class _BudgetSpentError(TerraflError):
    """The time that was given is over."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is left to run.

    Parameters
    ----------
    waiting
        Runs to be made or finished, of every scenario that can be run here.
    expected_s
        Seconds they are expected to take on one core, as far as their scenarios were tried.
    missing
        Why a scenario cannot be run here, by scenario.
    """

    waiting: tuple[Planned, ...]
    expected_s: float
    missing: Mapping[str, str] = field(default_factory=dict)


def prepare(
    planned: Sequence[Planned],
    runs: Path,
    *,
    workers: int,
    on_scenario: Callable[[str], None] = lambda scenario: None,
    on_data: Progress = lambda name, done, total: None,
    on_images: OnImages = lambda done, total: None,
    deadline: float = math.inf,
) -> Prepared:
    """Find out what is left to run and how long it will take, by one round of each scenario.

    Parameters
    ----------
    planned
        The runs of a table.
    runs
        Where run folders are, or will be.
    workers
        Processes that compute a backbone's features, where there is one.
    on_scenario
        Hears which scenario is being tried.
    on_data
        Hears of progress with data sets that are slow to read the first time.
    on_images
        Hears of progress with features.
    deadline
        On :func:`time.monotonic`'s clock; past it no further scenario is tried.
    """
    waiting = [cell for cell in planned if not RunFolder(runs / cell.place).is_complete]
    paces: dict[str, Pace] = {}
    missing: dict[str, str] = {}
    for cell in waiting:
        scenario = cell.column.scenario
        if scenario in paces or scenario in missing:
            continue
        if time.monotonic() > deadline:
            break
        on_scenario(scenario)
        try:
            read_data([cell.config], progress=on_data)
            compute_features([cell.config], workers=workers, on_images=on_images)
            paces[scenario] = calibrate(cell.config, runs / "calibration" / scenario)
        except DataError as error:
            missing[scenario] = str(error)
    left = tuple(cell for cell in waiting if cell.column.scenario not in missing)
    tried = [cell for cell in left if cell.column.scenario in paces]
    return Prepared(left, expected_seconds(tried, paces), missing)


def perform(
    planned: Sequence[Planned],
    *,
    runs: Path,
    results: Path,
    workers: int,
    deadline: float = math.inf,
    on_round: OnCell = lambda cell, done, total, accuracy: None,
) -> bool:
    """Run what is planned and keep what comes out; return whether all of it was run.

    Parameters
    ----------
    planned
        What to run; finished runs are not run again.
    runs
        Where run folders go.
    results
        Where summaries go, as runs finish.
    workers
        How many runs at once.
    deadline
        When to stop, on :func:`time.monotonic`'s clock; what is under way can be taken up later.
    on_round
        Hears of progress.
    """
    places = [cell.place for cell in planned]

    def tell(cell: Cell, done: int, total: int, accuracy: float | None) -> None:
        on_round(cell, done, total, accuracy)
        if done <= 1:
            export(places, runs, results)  # another run has just ended: keep its result
        if time.monotonic() > deadline:
            raise _BudgetSpentError("the budget is spent.")

    cells = [cell.under(runs) for cell in planned]
    try:
        sweep(cells, workers=workers, on_round=tell)
    except _BudgetSpentError:
        return False
    finally:
        export(places, runs, results)
    return True
