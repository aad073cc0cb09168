"""An algorithm with client and server state: resume, workers, inner iterations, costs."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from terrafl.errors import ConfigurationError
from terrafl.experiments.config import resolve
from terrafl.experiments.run import execute, resume
from terrafl.federation import record
from terrafl.runs import read_lines
from terrafl.simulation import batched

TINY = {
    "dataset": "digits",
    "partition": {"name": "alpha-groups", "clients": 12, "alphas": [0.1, 1.0]},
    "model": "linear",
    "training": {"learning_rate": 0.05, "epochs": 1, "batch_size": 32, "momentum": 0.5},
    "selector": {"name": "terraform", "eta": 2},
    "algorithm": "stateful:Drifting",
    "rounds": 4,
    "clients_per_round": 8,
}
FILES = ("journal.jsonl", "model.safetensors", "summary.json")


class Stopped(Exception):
    pass


def written(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    execute(resolve(TINY), folder, checkpoint_every_s=0)
    return folder


def test_any_number_of_workers_gives_the_same_bytes(whole, tmp_path):
    execute(resolve(TINY), tmp_path / "two", workers=2)
    execute(resolve(TINY), tmp_path / "three", workers=3)

    assert written(tmp_path / "two") == written(tmp_path / "three") == written(whole)


@pytest.mark.parametrize("die_at", range(1, 9))
def test_a_run_stopped_at_any_checkpoint_resumes_to_the_same_bytes(whole, tmp_path, die_at):
    saved = []

    def save(*arguments):
        real(*arguments)
        saved.append(1)
        if len(saved) == die_at:
            raise Stopped

    real = record.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "save", save)
        with pytest.raises(Stopped):
            execute(resolve(TINY), tmp_path / "run", checkpoint_every_s=0)

    resume(tmp_path / "run", checkpoint_every_s=0)

    assert written(tmp_path / "run") == written(whole)


def test_the_checkpoint_before_the_newest_still_has_its_client_state(whole, tmp_path):
    def stop(done, planned, accuracy):
        if done == 3:
            raise Stopped

    with pytest.raises(Stopped):
        execute(resolve(TINY), tmp_path / "run", checkpoint_every_s=0, on_round=stop)
    newest = sorted((tmp_path / "run" / "checkpoints").glob("0*"))[-1]
    (newest / "manifest.json").write_text("damaged")

    resume(tmp_path / "run", checkpoint_every_s=0)

    assert written(tmp_path / "run") == written(whole)


def test_the_corrections_are_those_of_the_formula(tmp_path):
    """One client and one plain step a round, so that the second round is known by hand."""
    settings = TINY | {
        "partition": {"name": "iid", "clients": 1},
        "training": {"learning_rate": 0.1, "epochs": 1, "batch_size": 100_000},
        "selector": "random",
        "clients_per_round": 1,
    }

    def model(rounds, **weights):
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        algorithm = {"name": "stateful:Drifting"} | weights if weights else "fedavg"
        execute(resolve(settings | {"algorithm": algorithm, "rounds": rounds}), folder)
        return load_file(folder / "model.safetensors")["head.weight"].astype(float)

    one, two = model(1), model(2)
    np.testing.assert_allclose(model(1, along_mean=0.3, along_last=0.2), one, atol=1e-7)
    along_mean = model(2, along_mean=1.0, along_last=0.0) - two  # -0.1 u / 2
    along_last = model(2, along_mean=0.0, along_last=1.0) - two  # -0.1 u
    both = model(2, along_mean=0.3, along_last=0.2) - two
    assert np.abs(along_last).max() > 1e-4
    np.testing.assert_allclose(along_last, 2 * along_mean, atol=1e-6)
    np.testing.assert_allclose(both, 0.3 * along_mean + 0.2 * along_last, atol=1e-6)


def test_batched_and_ordinary_training_agree(tmp_path):
    models = []
    for name, limit in (("batched", 64), ("ordinary", 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batched, "_LARGEST_BATCH", limit)
            execute(resolve(TINY | {"selector": "random"}), tmp_path / name)
        models.append(load_file(tmp_path / name / "model.safetensors"))

    for key, array in models[0].items():
        np.testing.assert_allclose(models[1][key], array, rtol=0, atol=2e-4)


def test_state_advances_with_every_iteration_and_its_traffic_is_counted(whole):
    events = list(read_lines(whole / "journal.jsonl"))
    trained = [c for e in events if e["event"] == "cohort" for c in e["clients"]]
    last = [e for e in events if e["event"] == "evaluation"][-1]
    model_bytes = 4 * (64 * 10 + 10)

    assert any(e["event"] == "cohort" and e["iteration"] > 0 for e in events)
    assert last["client_updates"] == len(trained)
    assert last["bytes_down"] == 2 * model_bytes * len(trained)  # the model and the shared mean
    assert last["bytes_up"] == (model_bytes + 16) * len(trained)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"selector": {"name": "terraform", "anchor": True}}, "an anchor"),
        ({"selector": "random", "aggregation": "median"}, "a robust rule"),
    ],
)
def test_what_does_not_go_with_client_state_is_refused(settings, part, tmp_path):
    config = resolve(TINY | settings)

    with pytest.raises(ConfigurationError, match=f"drifting keeps state for each client.*{part}"):
        execute(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
