"""A server that is killed and started again ends as if it had never been killed."""

import json

import numpy as np
import pytest
from flower_here import events, federation, local_grid, model, numpy_app

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import Array, MetricRecord
from flwr.serverapp.strategy import (
    DifferentialPrivacyServerSideAdaptiveClipping,
    FedAdam,
    FedAvg,
    FedAvgM,
    FedYogi,
    QFedAvg,
)

from terrafl import HiCSFL, Oort, PowerOfChoice, Random, Terraform
from terrafl.errors import ConfigurationError, RunFolderError
from terrafl.flower import ClientSelection

pytestmark = pytest.mark.usefixtures("flower")

STATEFUL = {
    "FedAvgM": (
        lambda: FedAvgM(server_momentum=0.9, server_learning_rate=0.5),
        lambda: Terraform(eta=2),
    ),
    "FedAdam": (FedAdam, lambda: Terraform(eta=2)),
    "FedAdam, anchored": (FedAdam, lambda: Terraform(eta=2, anchor=True)),
    "FedYogi": (FedYogi, HiCSFL),
    "QFedAvg": (lambda: QFedAvg(client_learning_rate=0.1), Oort),
    "adaptive DP": (
        lambda: DifferentialPrivacyServerSideAdaptiveClipping(
            FedAvgM(server_momentum=0.5), 0.0, 6, clipped_count_stddev=0.0
        ),
        lambda: PowerOfChoice(variant="rpow-d"),
    ),
}


class Killed(BaseException):
    """What stands for kill -9: nothing catches it, nothing is written after it."""


def evaluate(server_round, arrays):
    distance = float(abs(arrays["head.bias"].numpy()).sum())
    return MetricRecord({"accuracy": 1 / (1 + distance)})


def run(folder, base, selector, *, die_at=None, rounds=3, arrays=None, **options):
    """Run in a folder; with ``die_at``, die when so many messages have been sent."""
    grid = local_grid(federation(8, **options))
    push, sent = grid.push_messages, []

    def pushed(messages):
        messages = list(messages)
        for message in messages:
            sent.append(message)
            if len(sent) == die_at:
                raise Killed
        return push(messages)

    grid.push_messages = pushed
    selection = ClientSelection(base(), selector(), clients_per_round=6, out=folder)
    result = selection.start(
        grid, arrays or model(), num_rounds=rounds, timeout=5, evaluate_fn=evaluate
    )
    return result, len(sent)


@pytest.mark.parametrize(("base", "selector"), STATEFUL.values(), ids=STATEFUL)
def test_a_run_killed_anywhere_ends_with_the_same_bytes(base, selector, tmp_path):
    whole, total = run(tmp_path / "whole", base, selector)

    for die_at in range(1, total, 11):
        folder = tmp_path / str(die_at)
        with pytest.raises(Killed):
            run(folder, base, selector, die_at=die_at)
        result, _ = run(folder, base, selector)

        for name in ("journal.jsonl", "model.safetensors", "summary.json"):
            assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        assert result.arrays == whole.arrays
        assert result.train_metrics_clientapp == whole.train_metrics_clientapp
        assert result.evaluate_metrics_clientapp == whole.evaluate_metrics_clientapp
        assert result.evaluate_metrics_serverapp == whole.evaluate_metrics_serverapp


def counted(content, config):
    """Reply as a network with batch normalisation: with a counter, and in double precision."""
    size = content["metrics"]["num-examples"]
    content["arrays"]["counter"] = Array(np.array([size, 2 * size]))
    body = content["arrays"]["body.bias"].numpy()
    content["arrays"]["body.bias"] = Array(body.astype(np.float64) + 1e-12 * size)


def test_an_anchored_round_resumes_with_the_arrays_that_no_vector_holds(tmp_path):
    def anchored(name, **options):
        arrays = model()
        arrays["counter"] = Array(np.array([0, 0]))
        return run(
            *(tmp_path / name, FedAvg, lambda: Terraform(eta=1, anchor=True)),
            **{"arrays": arrays, "rounds": 2, "spoil": counted} | options,
        )

    whole, total = anchored("whole")

    for die_at in range(8 + 6 + 1, total, 3):
        with pytest.raises(Killed):
            anchored(str(die_at), die_at=die_at)
        result, _ = anchored(str(die_at))

        for name in ("journal.jsonl", "model.safetensors", "summary.json"):
            written = (tmp_path / str(die_at) / name).read_bytes()
            assert written == (tmp_path / "whole" / name).read_bytes()
        assert result.train_metrics_clientapp == whole.train_metrics_clientapp


def test_it_resumes_in_the_middle_of_a_round(tmp_path):
    with pytest.raises(Killed):
        # 8 answers who they are, 6 train, then the second iteration of the round begins
        run(tmp_path, FedAvg, lambda: Terraform(eta=2), die_at=8 + 6 + 1)
    manifest = json.loads(
        (sorted((tmp_path / "checkpoints").iterdir())[-1] / "manifest.json").read_text()
    )["manifest"]
    kept = json.loads(manifest)["values"]

    assert (kept["round"], kept["iteration"], kept["step"]) == (0, 1, 1)
    assert 2 <= len(kept["cohort"][0]) < 6


def test_a_run_with_other_settings_is_not_resumed(tmp_path):
    with pytest.raises(Killed):
        run(tmp_path, FedAvg, Random, die_at=20)

    with pytest.raises(RunFolderError, match=r"holds a run with selector = .*random.*terraform"):
        run(tmp_path, FedAvg, Terraform)
    with pytest.raises(RunFolderError, match=r"strategy = .*'FedAvg'.*; this one has .*'FedAdam'"):
        run(tmp_path, FedAdam, Random)


def test_a_finished_run_is_left_alone(tmp_path):
    run(tmp_path, FedAvg, Random)

    with pytest.raises(RunFolderError, match="already holds a finished run"):
        run(tmp_path, FedAvg, Random)


def test_the_report_reads_a_run_on_flower(tmp_path):
    from terrafl.reports.collect import find_runs

    run(tmp_path / "random", FedAvg, Random)
    run(tmp_path / "terraform", FedAvg, lambda: Terraform(eta=2))

    runs = {r.summary.selector: r.summary for r in find_runs([tmp_path])[0]}

    assert runs.keys() == {"random", "terraform"}
    assert runs["random"].experiment == runs["terraform"].experiment != ""
    assert runs["random"].client_updates == 3 * 6
    trained = sum(len(e["clients"]) for e in events(tmp_path / "terraform", "cohort"))
    assert runs["terraform"].client_updates == trained
    assert [point.round for point in runs["terraform"].curve] == [1, 2, 3]


def test_a_setting_of_the_strategy_that_changed_is_refused(tmp_path):
    with pytest.raises(Killed):
        run(tmp_path, lambda: FedAdam(eta=0.1), Random, die_at=20)

    with pytest.raises(RunFolderError, match=r"holds a run with strategy = .*'eta': 0.1"):
        run(tmp_path, lambda: FedAdam(eta=0.01), Random)


def test_an_evaluation_that_is_not_finite_stops_nothing(tmp_path):
    def diverged(server_round, arrays):
        accuracy = 0.5 if server_round != 2 else float("nan")
        return MetricRecord(
            {"accuracy": accuracy, "loss": float("inf"), "all": [1.0, float("nan")]}
        )

    selection = ClientSelection(FedAvg(), Random(), clients_per_round=4, out=tmp_path)
    selection.start(
        local_grid(federation(5)), model(), num_rounds=3, timeout=5, evaluate_fn=diverged
    )

    evaluations = events(tmp_path, "evaluation")
    assert [(event["round"], event["accuracy"], event["loss"]) for event in evaluations] == [
        (0, 0.5, None),
        (2, 0.5, None),
    ]


def test_an_accuracy_in_percent_is_refused_before_any_training(tmp_path):
    grid = local_grid(federation(5))
    selection = ClientSelection(FedAvg(), Random(), clients_per_round=4, out=tmp_path)

    with pytest.raises(ConfigurationError, match=r"accuracy must be a fraction of at most 1; got"):
        selection.start(
            grid, model(), evaluate_fn=lambda number, arrays: MetricRecord({"accuracy": 87.5})
        )

    assert grid.sent == []


def test_an_impossible_accuracy_of_clients_is_left_out(tmp_path):
    nodes = federation(4)
    for node in nodes.values():
        node.app = numpy_app(100, accuracy=2.0)
    ClientSelection(FedAvg(), Random(), clients_per_round=4, out=tmp_path).start(
        local_grid(nodes), model(), num_rounds=2, timeout=5
    )

    assert len(events(tmp_path, "cohort")) == 2
    assert events(tmp_path, "evaluation") == []
    assert not (tmp_path / "summary.json").exists()
