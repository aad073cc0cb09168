"""How long the runs of a table will take, estimated from one measured round of each method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import execute
from terrafl.paper.plan import Planned, ScenarioMethod
from terrafl.paper.results import seconds_of
from terrafl.runs import RunFolder


@dataclass(frozen=True, slots=True)
class Pace:
    """What one round took on one core.

    Parameters
    ----------
    round_s
        Seconds of training and client selection.
    evaluation_s
        Seconds per evaluation.
    """

    round_s: float
    evaluation_s: float


def calibrate(config: RunConfig, runs: Path) -> Pace:
    """Measure one round of a method on a scenario, or read the earlier measurement.

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
    seconds = seconds_of(run)
    return Pace(seconds["train"] + seconds["select"], seconds["evaluate"])


def expected_seconds(planned: Iterable[Planned], paces: Mapping[ScenarioMethod, Pace]) -> float:
    """Return the expected seconds on one core, every round taking as long as the measured one."""
    total = 0.0
    for cell in planned:
        pace, config = paces[cell.scenario_method], cell.config
        total += config.rounds * (pace.round_s + pace.evaluation_s / config.eval_every)
    return total
