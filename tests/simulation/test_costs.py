"""Fair accounting: what a run says it spent, recomputed from its journal."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from terrafl.experiments.assemble import federate
from terrafl.experiments.run import execute
from terrafl.runs import read_lines

# How many 8-byte numbers go up beside each model: the size, and what the selector sorts by.
NUMBERS = {
    "random": 1,
    "hbase": 1,
    "hics": 1,  # the update of the bias is part of the model
    "oort": 2,  # squared loss
    "terraform": 2,  # update norm
}


@pytest.fixture
def spent(tiny, tmp_path):
    """Run, and return the summary, the journal, the clients' sizes and a model's bytes."""

    def run(selector, **changes):
        config = tiny(selector=selector, **changes)
        execute(config, tmp_path / "run")
        data = federate(config)
        sizes = dict(zip(data.client_ids.tolist(), data.sizes.tolist(), strict=True))
        with safe_open(tmp_path / "run" / "model.safetensors", "np") as model:
            numbers = sum(int(np.prod(model.get_slice(k).get_shape())) for k in model.keys())  # noqa: SIM118
        summary = json.loads((tmp_path / "run" / "summary.json").read_text())
        return summary, list(read_lines(tmp_path / "run" / "journal.jsonl")), sizes, 4 * numbers

    return run


def cohorts(events):
    return [event["clients"] for event in events if event["event"] == "cohort"]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_training_is_counted_once(spent, name):
    summary, events, sizes, model = spent(name, training={"epochs": 3})

    trained = [client for cohort in cohorts(events) for client in cohort]
    assert summary["client_updates"] == len(trained)
    assert summary["samples_trained"] == 3 * sum(sizes[client] for client in trained)
    assert summary["bytes_down"] == len(trained) * model
    assert summary["bytes_up"] == len(trained) * (model + 8 * NUMBERS[name])
    assert summary["loss_queries"] == summary["samples_queried"] == 0


def test_every_question_is_counted_and_its_model_goes_down_once(spent):
    summary, events, sizes, model = spent({"name": "poc", "candidates": "all"})

    updates = sum(map(len, cohorts(events)))
    assert updates == 3 * 8
    assert summary["client_updates"] == updates
    assert summary["loss_queries"] == 3 * 12
    assert summary["samples_queried"] == 3 * sum(sizes.values())
    # Those who train were asked before and have the model already.
    assert summary["bytes_down"] == 3 * 12 * model
    assert summary["bytes_up"] == 3 * 12 * 8 + updates * (model + 8)


def test_a_question_about_a_sample_costs_the_sample(spent):
    summary, _, sizes, _ = spent(
        {"name": "poc", "variant": "cpow-d", "candidates": "all", "sample_size": 40}
    )

    assert summary["samples_queried"] == 3 * sum(min(40, size) for size in sizes.values())
    assert min(sizes.values()) < 40 < max(sizes.values())


def test_candidates_who_are_not_asked_cost_nothing(spent):
    summary, _, _, _ = spent({"name": "poc", "variant": "rpow-d"})

    assert summary["loss_queries"] == summary["samples_queried"] == 0


def test_terraform_pays_for_every_iteration(spent):
    summary, events, _, _ = spent({"name": "terraform", "eta": 1})

    assert len(cohorts(events)) > 3
    assert summary["client_updates"] > 3 * 8


def test_the_curve_shows_the_cost_of_every_point(spent):
    summary, events, sizes, _ = spent({"name": "terraform", "eta": 1})

    updates, samples, expected = 0, 0, []
    for event in events:
        if event["event"] == "cohort":
            updates += len(event["clients"])
            samples += sum(sizes[client] for client in event["clients"])
        if event["event"] == "evaluation":
            expected.append([event["round"] + 1, updates, samples, event["accuracy"]])
    assert summary["curve"] == expected


def test_the_summary_sums_the_curve_up(spent):
    summary, events, _, _ = spent("random", rounds=12)

    accuracies = [event["accuracy"] for event in events if event["event"] == "evaluation"]
    assert summary["accuracy"] == accuracies[-1]
    assert summary["best"] == max(accuracies)
    assert summary["mean_last_ten"] == pytest.approx(sum(accuracies[2:]) / 10)
    assert (summary["rounds"], summary["stopped"]) == (12, "rounds")
    assert 0.5 < accuracies[-1] < 1
