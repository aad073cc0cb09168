"""Finished runs made of numbers, in memory and in folders."""

from __future__ import annotations

import json

import numpy as np
import pytest
from diabetes import SETTINGS, write_diabetes

import terrafl
from terrafl.experiments.api import configure
from terrafl.experiments.run import execute
from terrafl.reports import write_report
from terrafl.reports.collect import Run
from terrafl.reports.comparison import compare
from terrafl.runs import Point, RunFolder, Summary
from terrafl.runs.events import Federation


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


def write_run(folder, summary, events=(), timings=()):
    folder.mkdir(parents=True)
    run = RunFolder(folder)
    run.summary.write_bytes(summary.to_json())
    for path, lines in ((run.journal, events), (run.timings, timings)):
        if lines:
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def a_long_journal(rounds, cohort, seed=0, population=100):
    """A journal as Terraform's, with random norms: nothing in it compresses well."""
    draw = np.random.default_rng(seed)
    ids = [f"{i:03}" for i in range(population)]
    sizes = draw.integers(10, 600, population).tolist()
    yield {
        **{"event": "federation", "clients": population, "ids": ids, "sizes": sizes},
        **{"distances": draw.random(population).round(4).tolist(), "labels": [0] * population},
    }
    for number in range(rounds):
        names = sorted(draw.choice(ids, cohort, replace=False).tolist())
        for iteration in range(2):
            key = {"round": number, "iteration": iteration}
            yield {"event": "cohort", **key, "clients": names}
            rows = [
                {"id": name, "update_norm": norm, "num_examples": 10}
                for name, norm in zip(names, sorted(draw.random(len(names))), strict=True)
            ]
            cut = {"k_q1": 1, "k_q3": len(names) - 1, "tau": len(names) // 2}
            yield {"event": "split", **key, "clients": rows, **cut}
            names = names[len(names) // 2 :]
        yield {"event": "evaluation", "round": number, "accuracy": draw.random()}


@pytest.fixture(scope="session")
def long_journal():
    return a_long_journal


@pytest.fixture(scope="session")
def real_runs(tmp_path_factory):
    """Random and Terraform on digits, two seeds each, as the engine leaves them."""
    folder = tmp_path_factory.mktemp("real")
    for selector in ("random", "terraform"):
        for seed in (0, 1):
            config = configure(
                selector=selector, seed=seed, rounds=6, clients=20, clients_per_round=10
            )
            execute(config, folder / f"{selector}-s{seed}")
    return folder


@pytest.fixture(scope="session")
def regression_runs(tmp_path_factory):
    """Random and Terraform on a regression, two seeds each, which score R²."""
    folder = tmp_path_factory.mktemp("regression")
    path = write_diabetes(folder / "diabetes.npz")
    for selector in ("random", "terraform"):
        for seed in (0, 1):
            out = folder / "runs" / f"{selector}-s{seed}"
            terrafl.run(dataset=str(path), selector=selector, seed=seed, out=out, **SETTINGS)
    return folder / "runs"


@pytest.fixture(scope="session")
def regression_report(regression_runs, tmp_path_factory):
    """The page of those runs."""
    return write_report([regression_runs], tmp_path_factory.mktemp("regression-report"))


@pytest.fixture(scope="session")
def real_report(real_runs, tmp_path_factory):
    """The page of those runs."""
    return write_report([real_runs], tmp_path_factory.mktemp("report"))


@pytest.fixture(name="a_summary")
def _a_summary():
    return a_summary


@pytest.fixture(name="a_group")
def _a_group():
    return a_group


@pytest.fixture
def a_federation():
    """Make the first event of a journal that lists its clients."""

    def made(ids, **columns):
        unknown = ("examples", "size_min", "size_median", "size_max", "mean_classes")
        unknown += ("mean_distance", "redraws", "repaired")
        return Federation(clients=len(ids), ids=list(ids), **dict.fromkeys(unknown), **columns)

    return made


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
