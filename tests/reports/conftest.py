"""Finished runs made of numbers, in memory and in folders."""

from __future__ import annotations

import pytest

from terrafl.reports.collect import Run
from terrafl.reports.comparison import compare
from terrafl.runs import Point, RunFolder, Summary


def a_summary(selector="random", seed=0, accuracy=0.5, *, curve=None, **other):
    points = curve or [(1, 10, 100, accuracy / 2), (2, 20, 200, accuracy)]
    values = {
        "dataset": "digits",
        "scenario": "digits-1",
        "model": "mlp",
        "algorithm": "fedavg",
        "profile": "",
        "variant": "",
        "rounds": points[-1][0],
        "stopped": "rounds",
        "client_updates": points[-1][1],
        "samples_trained": points[-1][2],
        "loss_queries": 0,
        "samples_queried": 0,
        "bytes_down": 1_000_000,
        "bytes_up": 2_000_000,
        "reports_refused": 0,
        "accuracy_participating": accuracy,
        "best": accuracy,
        "mean_last_ten": accuracy,
        "versions": {"terrafl": "0.1.0"},
    }
    return Summary(
        selector=selector,
        seed=seed,
        accuracy=accuracy,
        curve=tuple(Point(*point) for point in points),
        **values | other,
    )


def a_group(*summaries):
    """Return the one group that these summaries form."""
    runs = [Run(f"run-{number}", summary) for number, summary in enumerate(summaries)]
    (group,) = compare(runs).groups
    return group


def write_run(folder, summary):
    folder.mkdir(parents=True)
    RunFolder(folder).summary.write_bytes(summary.to_json())
    return folder


@pytest.fixture(name="a_summary")
def _a_summary():
    return a_summary


@pytest.fixture(name="a_group")
def _a_group():
    return a_group


@pytest.fixture(name="write_run")
def _write_run():
    return write_run


@pytest.fixture
def runs(tmp_path):
    """A folder with three methods, three seeds each; Terraform trains more clients per round."""
    accuracies = {
        "random": (0.80, 0.81, 0.79),
        "oort": (0.7, 0.72, 0.71),
        "terraform": (0.9, 0.88, 0.92),
    }
    for selector, of_seed in accuracies.items():
        per_round = 14 if selector == "terraform" else 10
        for seed, top in enumerate(of_seed):
            curve = [(r, per_round * r + seed % 2, 100 * r, top * r / (r + 1)) for r in range(1, 9)]
            summary = a_summary(selector, seed, curve[-1][-1], curve=curve)
            write_run(tmp_path / "runs" / selector / f"seed-{seed}", summary)
    return tmp_path / "runs"
