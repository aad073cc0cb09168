"""Runs with attackers, a guard and robust rules: judged, written down, and the same bytes."""

import numpy as np
import pytest

from terrafl.experiments.run import execute, resume
from terrafl.runs import read_lines

HOSTILE = {"attack": {"kind": "model-replacement", "fraction": 0.25}, "guard": {}}


class Interrupted(Exception):
    """Stands for whatever stops a run."""


def events(folder, kind):
    return [event for event in read_lines(folder / "journal.jsonl") if event["event"] == kind]


@pytest.mark.parametrize("kind", ["label-flip", "model-replacement", "stale"])
def test_a_guarded_run_under_attack_gives_the_same_bytes_at_any_number_of_workers(
    tiny, tmp_path, written, kind
):
    config = tiny(
        selector={"name": "terraform", "eta": 1},
        attack={"kind": kind, "fraction": 0.25},
        guard=True,
    )

    execute(config, tmp_path / "one", workers=1)
    execute(config, tmp_path / "two", workers=2)

    assert written(tmp_path / "one") == written(tmp_path / "two")
    (crowd,) = events(tmp_path / "one", "attackers")
    assert (crowd["kind"], len(crowd["clients"])) == (kind, 3)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("anchor", [False, True])
def test_an_interrupted_guarded_run_ends_the_same(tiny, tmp_path, written, rounds, anchor):
    config = tiny(selector={"name": "terraform", "eta": 1, "anchor": anchor}, rounds=4, **HOSTILE)
    execute(config, tmp_path / "whole")

    def stop(done, planned, accuracy):
        if done == rounds:
            raise Interrupted

    with pytest.raises(Interrupted):
        execute(config, tmp_path / "run", on_round=stop, checkpoint_every_s=0)
    resume(tmp_path / "run")

    assert written(tmp_path / "run") == written(tmp_path / "whole")


@pytest.mark.parametrize("recompute", [False, True])
def test_a_guard_that_only_measures_changes_no_model_of_honest_clients(tiny, tmp_path, recompute):
    off = {"clip": 0.0, "size_cap": 0.0, "retrainings": 0, "quarantine": 0.0}
    guard = off | {"recompute": recompute}
    for name, changes in {"plain": {}, "guard": {"guard": guard}}.items():
        execute(tiny(selector={"name": "terraform", "eta": 1}, **changes), tmp_path / name)

    models = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("plain", "guard")]
    assert models[0] == models[1]
    assert events(tmp_path / "guard", "guard") == []


@pytest.mark.parametrize("kind", ["nan-bomb", "replay"])
def test_what_the_border_refuses_is_written_down_and_never_averaged(tiny, tmp_path, kind):
    execute(tiny(selector="random", attack={"kind": kind, "fraction": 0.25}), tmp_path / "run")

    (crowd,) = events(tmp_path / "run", "attackers")
    refused = {(e["round"], e["client"]) for e in events(tmp_path / "run", "refused")}
    assert refused
    for event in events(tmp_path / "run", "averaged"):
        bad = set(crowd["clients"]) & set(event["clients"])
        assert bad == set() or (kind, event["round"]) == ("replay", 0)
        assert not {(event["round"], c) for c in event["clients"]} & refused
    assert {client for _, client in refused} <= set(crowd["clients"])


def test_an_inflated_size_owns_the_average_unless_it_is_guarded(tiny, tmp_path):
    shares = {}
    for name, changes in {"literal": {}, "guarded": {"guard": {}}}.items():
        attack = {"kind": "size-inflation", "fraction": 0.1}
        execute(tiny(selector="random", attack=attack, **changes), tmp_path / name)
        (crowd,) = events(tmp_path / name, "attackers")
        shares[name] = [
            weight / sum(event["weights"])
            for event in events(tmp_path / name, "averaged")
            for client, weight in zip(event["clients"], event["weights"], strict=True)
            if client in crowd["clients"]
        ]

    assert min(shares["literal"]) > 0.95
    assert max(shares["guarded"]) < 0.25


def test_the_retraining_budget_is_kept_over_a_whole_run(tiny, tmp_path):
    guard = {"retrainings": 1, "window": 2}
    config = tiny(selector={"name": "terraform", "eta": 1}, rounds=8, guard=guard)
    execute(config, tmp_path / "run")

    used = {}
    for event in events(tmp_path / "run", "cohort"):
        for client in event["clients"]:
            draws = used.setdefault(client, [])
            if event["iteration"] == 0:
                draws.append(0)
            else:
                draws[-1] += 1
    windows = [sum(draws[i : i + 2]) for draws in used.values() for i in range(len(draws))]
    assert max(windows) == 1
    withheld = [e for e in events(tmp_path / "run", "guard") if e["action"] == "withheld"]
    assert withheld[0]["reason"] == "retrained 1 times in its last 2 draws; at most 1"


@pytest.mark.parametrize("name", ["median", "trimmed-mean", "krum", "multi-krum"])
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox"])
def test_a_robust_rule_stands_in_front_of_any_algorithm(tiny, tmp_path, name, algorithm):
    config = tiny(selector="random", algorithm=algorithm, aggregation=name)

    result = execute(config, tmp_path / "run")

    assert np.isfinite(result.accuracy)
    assert events(tmp_path / "run", "not aggregated") == []


def test_a_cohort_that_refusals_made_too_small_leaves_the_model_as_it_is(tiny, tmp_path):
    config = tiny(
        selector="random",
        clients_per_round=5,
        aggregation="krum",
        attack={"kind": "nan-bomb", "fraction": 0.5},
        rounds=1,
    )

    result = execute(config, tmp_path / "run")

    (event,) = events(tmp_path / "run", "not aggregated")
    assert event["reason"].startswith("krum needs 5 models, got ")
    assert result.summary.rounds == 1


@pytest.mark.parametrize("guard", [False, True])
def test_with_a_robust_rule_a_round_in_which_everybody_is_refused_changes_nothing(
    tiny, tmp_path, guard
):
    absurd = {"learning_rate": 1e38, "epochs": 5, "batch_size": 1}
    config = tiny(selector="random", aggregation="median", training=absurd, guard=guard, rounds=1)

    result = execute(config, tmp_path / "run")

    assert result.summary.reports_refused == 8
    assert events(tmp_path / "run", "averaged") == []
