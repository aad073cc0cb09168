"""Equal runs give equal bytes, and runs compared see the same randomness."""

import json

import pytest

from terrafl.experiments.run import execute
from terrafl.runs import read_lines

SELECTORS = [
    {"name": "random"},
    {"name": "hbase"},
    {"name": "hbase", "replace": False},
    {"name": "poc"},
    {"name": "poc", "variant": "cpow-d", "sample_size": 10},
    {"name": "poc", "variant": "rpow-d"},
    {"name": "hics"},
    {"name": "hics", "compat": "released"},
    {"name": "oort"},
    {"name": "oort", "preset": "fedscale", "durations": "seeded"},
    {"name": "terraform", "eta": 1},
    {"name": "terraform", "eta": 2, "signal": "loss", "weighting": "mass"},
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: "-".join(map(str, s.values())))
def test_one_seed_gives_one_result(tiny, tmp_path, written, selector):
    for name in ("one", "two"):
        execute(tiny(selector=selector, seed=5), tmp_path / name)

    assert written(tmp_path / "one") == written(tmp_path / "two")


def test_another_seed_gives_another_result(tiny, tmp_path, written):
    for seed in (0, 1):
        execute(tiny(selector="random", seed=seed), tmp_path / str(seed))

    one, other = written(tmp_path / "0"), written(tmp_path / "1")
    assert all(one[name] != other[name] for name in one)


def test_a_result_names_no_place_and_no_time(tiny, tmp_path, written):
    execute(tiny(selector="terraform"), tmp_path / "run")

    for name, content in written(tmp_path / "run").items():
        assert str(tmp_path).encode() not in content, name
        assert b'_s"' not in content, name


def test_what_differs_between_equal_runs_is_kept_apart(tiny, tmp_path):
    execute(tiny(selector="random"), tmp_path / "run")

    timings = list(read_lines(tmp_path / "run" / "timings.jsonl"))
    assert {event["event"] for event in timings} >= {"iteration", "evaluation"}


def first_cohorts(folder):
    events = read_lines(folder / "journal.jsonl")
    return [e["clients"] for e in events if e["event"] == "cohort" and e["iteration"] == 0]


def test_random_and_terraform_start_their_rounds_with_the_same_clients(tiny, tmp_path):
    for name in ("random", "terraform"):
        execute(tiny(selector=name, rounds=5), tmp_path / name)

    assert first_cohorts(tmp_path / "random") == first_cohorts(tmp_path / "terraform")


def test_terraform_that_never_goes_on_is_random(tiny, tmp_path):
    execute(tiny(selector="random"), tmp_path / "random")
    execute(tiny(selector={"name": "terraform", "eta": 10**6}), tmp_path / "terraform")

    models = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("random", "terraform")]
    assert models[0] == models[1]


@pytest.mark.parametrize("batch_size", [32, 100])
def test_fedprox_without_weight_is_fedavg(tiny, tmp_path, batch_size):
    training = {"batch_size": batch_size, "momentum": 0.5}
    for name, algorithm in {"avg": "fedavg", "prox": {"name": "fedprox", "mu": 0.0}}.items():
        execute(tiny(selector="terraform", algorithm=algorithm, training=training), tmp_path / name)

    models = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("avg", "prox")]
    assert models[0] == models[1]


def test_fedprox_with_weight_is_not(tiny, tmp_path):
    for name, algorithm in {"avg": "fedavg", "prox": {"name": "fedprox", "mu": 0.5}}.items():
        execute(tiny(selector="random", algorithm=algorithm), tmp_path / name)

    models = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("avg", "prox")]
    assert models[0] != models[1]


def test_the_objects_of_the_caller_learn_nothing(tiny, tmp_path):
    config = tiny(selector="oort")

    execute(config, tmp_path / "one")
    execute(config, tmp_path / "two")

    summaries = [json.loads((tmp_path / n / "summary.json").read_text()) for n in ("one", "two")]
    assert summaries[0] == summaries[1]
