"""How long the runs of a table will take, from one measured round of each scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from terrafl.experiments.config import RunConfig
from terrafl.experiments.run import execute
from terrafl.paper.plan import Planned
from terrafl.paper.results import seconds_of
from terrafl.runs import RunFolder
from terrafl.selection import Terraform

__all__ = ["Pace", "calibrate", "expected_seconds"]


@dataclass(frozen=True, slots=True)
class Pace:
    """What one round of Terraform took, on one core.

    Parameters
    ----------
    update_s
        Seconds per client update.
    evaluation_s
        Seconds per evaluation.
    updates
        Client updates in the round.
    """

    update_s: float
    evaluation_s: float
    updates: int


def calibrate(config: RunConfig, folder: Path) -> Pace:
    """Measure one round of a scenario, or read what was measured.

    Parameters
    ----------
    config
        Any run of the scenario.
    folder
        Where the round is kept; it is measured once.
    """
    run = RunFolder(folder)
    if not run.is_complete:
        with run:  # refused while another process is at it
            run.discard()
        one = replace(config, selector=Terraform(), rounds=1, profile="calibration")
        execute(one, folder)
    summary, seconds = run.read_summary(), seconds_of(run)
    return Pace(
        seconds["train"] / summary.client_updates, seconds["evaluate"], summary.client_updates
    )


def expected_seconds(planned: Iterable[Planned], paces: Mapping[str, Pace]) -> float:
    """Return the expected seconds on one core.

    Terraform is expected to make as many client updates in every round as in the measured one,
    the others as many as a round starts with.
    """
    total = 0.0
    for cell in planned:
        pace, config = paces[cell.column.scenario], cell.config
        hierarchical = isinstance(config.selector, Terraform)
        updates = pace.updates if hierarchical else config.clients_per_round
        evaluations = 1 / config.eval_every
        total += config.rounds * (updates * pace.update_s + evaluations * pace.evaluation_s)
    return total
