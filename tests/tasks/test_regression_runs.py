"""Regression from the data file to the report, with real patients."""

import json
import sys

import numpy as np
import pytest
from diabetes import SETTINGS
from safetensors.numpy import load_file

import terrafl
from terrafl.errors import ConfigurationError, DataError
from terrafl.experiments.run import read_config
from terrafl.reports.comparison import compare_runs
from terrafl.reports.curves import plot_runs
from terrafl.reports.trace import read_trace
from terrafl.runs import RunFolder
from terrafl.tasks import Classification, Regression

FILES = ("model.safetensors", "journal.jsonl", "summary.json")


def run(path, out, **changes):
    return terrafl.run(dataset=str(path), out=out, **(SETTINGS | {"selector": "random"} | changes))


def events_of(result):
    return [json.loads(line) for line in result.folder.journal.read_text().splitlines()]


@pytest.mark.parametrize("selector", ["random", "terraform"])
def test_a_linear_model_explains_the_progression(diabetes, tmp_path, selector):
    result = run(diabetes, tmp_path / "run", selector=selector)

    assert result.accuracy > 0.3
    assert result.accuracy > result.curve[0].accuracy
    assert result.summary.metric == "r2"
    # The score is that of the stored model, computed here from its definition.
    arrays, model = np.load(diabetes), load_file(result.folder.model)
    x, y, train = arrays["x_test"], arrays["y_test"], arrays["x_train"]
    inputs = (x - train.mean(axis=0)) / train.std(axis=0)
    residual = y - (inputs @ model["head.weight"][0] + model["head.bias"])
    expected = 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum()
    assert result.accuracy == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("selector", ["random", "terraform"])
def test_two_workers_give_the_bytes_of_one(diabetes, tmp_path, selector):
    alone = run(diabetes, tmp_path / "alone", selector=selector)
    together = run(diabetes, tmp_path / "together", selector=selector, workers=2)
    for name in FILES:
        expected = (alone.folder.path / name).read_bytes()
        assert (together.folder.path / name).read_bytes() == expected, name


def test_the_journal_names_the_score_and_holds_nothing_about_labels(diabetes, tmp_path):
    events = events_of(run(diabetes, tmp_path / "run", rounds=2))

    federation = events[0]
    for key in ("mean_classes", "mean_distance", "distances", "labels"):
        assert federation[key] is None
    assert sum(federation["sizes"]) == federation["examples"]
    assert {e["metric"] for e in events if e["event"] == "evaluation"} == {"r2"}
    fairness = next(e for e in events if e["event"] == "fairness")
    assert "correct" not in fairness
    assert len(fairness["score"]) == len(fairness["tested"]) == 12


def test_the_scores_of_clients_are_those_of_their_own_patients(diabetes, tmp_path):
    settings = {"partition": {"name": "owner"}, "clients_per_round": 4, "rounds": 2}
    result = run(diabetes, tmp_path / "run", **settings)

    arrays, model = np.load(diabetes), load_file(result.folder.model)
    inputs = (arrays["x_test"] - arrays["x_train"].mean(axis=0)) / arrays["x_train"].std(axis=0)
    predicted = inputs @ model["head.weight"][0] + model["head.bias"]
    scores = next(e for e in events_of(result) if e["event"] == "fairness")["score"]
    ids = sorted(set(arrays["owner_train"]))
    for client, score in zip(ids, scores, strict=True):
        rows = arrays["owner_test"] == client
        y = arrays["y_test"][rows]
        total = ((y - y.mean()) ** 2).sum() if len(y) else 0
        if total == 0:
            assert score is None
        else:
            expected = 1 - ((y - predicted[rows]) ** 2).sum() / total
            assert score == pytest.approx(expected, abs=1e-4)


def test_reports_read_such_a_run_and_name_its_score(diabetes, tmp_path):
    result = run(diabetes, tmp_path / "runs" / "a", rounds=2)

    (group,) = compare_runs([tmp_path / "runs"]).groups
    assert group.problem.metric == "r2"
    axes = plot_runs([result.folder.path]).subfigs[0].axes
    assert axes[0].get_ylabel() == "R² on the pooled test set"
    served = read_trace(result.folder).served
    assert served == next(e for e in events_of(result) if e["event"] == "fairness")["score"]
    assert "r2 0." in repr(result) or "r2 -" in repr(result)


def test_a_run_is_resumed_with_its_task(diabetes, tmp_path):
    result = run(diabetes, tmp_path / "run", rounds=2)
    assert read_config(RunFolder(tmp_path / "run")).task == Regression()
    assert terrafl.resume(tmp_path / "run").summary == result.summary


def test_classification_is_the_default_and_changes_no_file(tmp_path):
    settings = {"dataset": "digits", "selector": "random", "rounds": 1, "workers": 1}
    result = terrafl.run(out=tmp_path / "a", **settings)
    named = terrafl.run(out=tmp_path / "b", task="classification", **settings)

    assert result.config.task == Classification()
    assert "task" not in result.config.to_plain()
    assert "metric" not in json.loads(result.folder.summary.read_text())
    for name in (*FILES, "config.toml"):
        first, second = ((r.folder.path / name).read_bytes() for r in (result, named))
        assert first == second, name


@pytest.mark.parametrize(
    "partition",
    [
        {"name": "shards", "clients": 4},
        {"name": "label-dirichlet", "clients": 4, "alpha": 1.0},
        {"name": "alpha-groups", "clients": 4, "alphas": [1.0]},
    ],
)
def test_partitions_by_label_are_refused(diabetes, tmp_path, partition):
    sentence = f"partition {partition['name']} needs class labels; the targets of diabetes are"
    with pytest.raises(DataError, match=sentence):
        run(diabetes, tmp_path / "run", partition=partition, clients_per_round=2)


def test_label_flipping_is_refused(diabetes, tmp_path):
    attack = {"kind": "label-flip", "fraction": 0.2}
    with pytest.raises(DataError, match="label flipping needs class labels"):
        run(diabetes, tmp_path / "run", attack=attack)


def test_numbers_are_no_classes_and_classes_no_numbers(diabetes, tmp_path):
    with pytest.raises(DataError, match="task classification needs class labels"):
        run(diabetes, tmp_path / "run", task="classification")
    with pytest.raises(DataError, match="needs targets that are floating-point numbers"):
        terrafl.run(dataset="digits", task="regression", rounds=1, workers=1)


def test_a_misspelled_task_is_corrected():
    with pytest.raises(ConfigurationError, match=r"task\.name must be .*did you mean 'regression'"):
        terrafl.run(dataset="digits", task="regresion")


ABSOLUTE = """
from dataclasses import dataclass
from typing import ClassVar
import torch
from terrafl.tasks import Regression

@dataclass(frozen=True)
class Absolute(Regression):
    name: ClassVar[str] = "absolute"
    metric: ClassVar[str] = "negative_mae"
    statistics_names: ClassVar[tuple[str, ...]] = ("absolute_error",)
    scale: float = 1.0

    def loss(self, outputs, targets):
        return self.scale * (outputs.squeeze(1) - targets).abs()

    def statistics(self, outputs, targets):
        return (outputs.squeeze(1) - targets).abs().unsqueeze(1)

    def score(self, sums, count):
        return -float(sums[0]) / count
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_of_the_user_is_named_by_where_it_is(diabetes, tmp_path, monkeypatch, workers):
    (tmp_path / "absolute_task.py").write_text(ABSOLUTE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "absolute_task", raising=False)
    task = {"name": "absolute_task:Absolute", "scale": 2.0}
    result = run(diabetes, tmp_path / "run", task=task, workers=workers)

    assert result.summary.metric == "negative_mae"
    assert result.config.to_plain()["task"] == task
    assert result.curve[0].accuracy < result.accuracy < 0
