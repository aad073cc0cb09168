"""How long the runs of a table will take, estimated from one measured round of each method."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import execute
from terrafl.paper.results import seconds_of
from terrafl.runs import RunFolder


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
