"""A run is not resumed under other conditions: what counts as a change, and what follows."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from terrafl.errors import RunFolderError
from terrafl.experiments import assemble, drift
from terrafl.experiments.run import execute, resume
from terrafl.provenance import DECISIVE, versions
from terrafl.results_version import RESULTS_VERSION
from terrafl.runs import RunFolder, read_lines
from terrafl.runs.checkpoint import Checkpoint, load, save


class Interrupted(Exception):
    """Stands for whatever stops a run."""


def stop_after(rounds):
    def stop(done, planned, accuracy):
        if done == rounds:
            raise Interrupted

    return stop


@pytest.fixture
def config(tiny):
    return tiny(rounds=3, selector="oort")


@pytest.fixture
def run(config, tmp_path):
    """Return the folder of a run that was interrupted after its first round."""
    with pytest.raises(Interrupted):
        execute(config, tmp_path / "run", on_round=stop_after(1), checkpoint_every_s=0)
    return tmp_path / "run"


@pytest.fixture
def edited(run):
    """Edit the run's configuration by hand."""
    text = (run / "config.toml").read_text()
    assert "learning_rate = 0.05" in text
    (run / "config.toml").write_text(text.replace("learning_rate = 0.05", "learning_rate = 0.1"))
    return run


@pytest.fixture
def pretend(monkeypatch):
    """Make this installation say that it has other versions."""

    def with_versions(**changes):
        monkeypatch.setattr(drift, "versions", lambda: versions() | changes)

    return with_versions


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_configuration_edited_by_hand_is_refused_with_what_changed(edited):
    before = files(edited)

    with pytest.raises(RunFolderError) as refused:
        resume(edited)

    assert str(refused.value).splitlines() == [
        f"{edited} was started under other conditions:",
        "  training.learning_rate  0.05 -> 0.1",
        "Undo the change to get the result of an uninterrupted run, or resume anyway with "
        f"terrafl resume {edited} --allow-drift, which is noted in the journal.",
    ]
    assert files(edited) == before


def test_once_the_change_is_undone_the_result_is_that_of_an_undisturbed_run(
    edited, config, tmp_path, written
):
    with pytest.raises(RunFolderError):
        resume(edited)
    text = (edited / "config.toml").read_text()
    (edited / "config.toml").write_text(text.replace("learning_rate = 0.1", "learning_rate = 0.05"))

    resume(edited)

    execute(config, tmp_path / "whole")
    assert written(edited) == written(tmp_path / "whole")


def test_drift_that_is_allowed_is_an_event_in_the_journal(edited):
    resume(edited, allow_drift=True)

    events = [event for event in read_lines(edited / "journal.jsonl") if event["event"] == "drift"]
    assert events == [
        {"event": "drift", "round": 1, "changes": {"training.learning_rate": ["0.05", "0.1"]}}
    ]


def test_drift_is_allowed_once_and_stands_when_the_run_is_interrupted_again(edited):
    with pytest.raises(Interrupted):
        resume(edited, allow_drift=True, on_round=stop_after(2), checkpoint_every_s=0)

    resume(edited)

    events = [event["event"] for event in read_lines(edited / "journal.jsonl")]
    assert events.count("drift") == 1


def test_drift_interrupted_before_its_first_checkpoint_must_be_allowed_again(edited):
    with pytest.raises(Interrupted):
        resume(edited, allow_drift=True, on_round=stop_after(2), checkpoint_every_s=1e9)

    # The first checkpoint of a process is always due; without it nothing of it stands.
    newest = max((edited / "checkpoints").iterdir())
    shutil.rmtree(newest)

    with pytest.raises(RunFolderError, match="started under other conditions"):
        resume(edited)


def test_a_run_that_did_not_drift_says_nothing_of_it(run):
    resume(run)

    assert "drift" not in (run / "journal.jsonl").read_text()


def test_a_longer_run_is_a_change_like_any_other(run):
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(text.replace("rounds = 3", "rounds = 5"))

    with pytest.raises(RunFolderError, match=r"rounds  3 -> 5"):
        resume(run)
    assert resume(run, allow_drift=True).summary.rounds == 5


@pytest.mark.parametrize("name", DECISIVE)
def test_another_version_of_anything_decisive_is_refused(run, pretend, name):
    pretend(**{name: "0.0.1"})

    with pytest.raises(RunFolderError, match=rf"  {name}  .* -> 0\.0\.1"):
        resume(run)


@pytest.mark.parametrize("name", DECISIVE)
def test_without_a_checkpoint_the_versions_of_the_file_are_compared(run, pretend, name):
    shutil.rmtree(run / "checkpoints")
    pretend(**{name: "0.0.1"})

    with pytest.raises(RunFolderError, match=rf"  {name}  .* -> 0\.0\.1"):
        resume(run)

    resume(run, allow_drift=True)
    events = [event["event"] for event in read_lines(run / "journal.jsonl")]
    assert events[:2] == ["federation", "drift"]


def test_a_run_that_begins_again_names_the_versions_that_made_it(run):
    shutil.rmtree(run / "checkpoints")
    text = (run / "config.toml").read_text()
    python = versions()["python"]
    (run / "config.toml").write_text(text.replace(f'python = "{python}"', 'python = "3.0.0"'))

    assert resume(run).summary.versions["python"] == python


def test_another_commit_release_or_python_alone_is_no_drift_and_leaves_no_trace(
    run, pretend, config, tmp_path, written
):
    execute(config, tmp_path / "whole")
    pretend(commit="f" * 40, python="3.99.0", terrafl="9.9.9")

    resume(run)

    assert written(run) == written(tmp_path / "whole")


def test_other_instructions_of_the_processor_are_noticed(run):
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    if not found:
        pytest.skip("numpy finds no instructions here that it could do without")
    code = "import sys; from terrafl.experiments.run import resume; resume(sys.argv[1])"

    done = subprocess.run(
        [sys.executable, "-c", code, str(run)],
        env=os.environ
        | {
            "NPY_DISABLE_CPU_FEATURES": found[-1],
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
    )

    assert done.returncode != 0
    assert "was started under other conditions" in done.stderr
    assert "  instructions  " in done.stderr


@pytest.fixture
def rewritten(run):
    """Write the newest checkpoint's conditions again, changed."""

    def rewrite(change):
        path, checkpoint = next(load(run / "checkpoints"))
        conditions = change(checkpoint.values["conditions"])
        changed = Checkpoint({**checkpoint.values, "conditions": conditions}, checkpoint.arrays)
        save(run / "checkpoints", int(path.name), changed)

    return rewrite


def as_before_results_versions(source):
    """Return conditions as they were kept when a digest of terrafl's source was one of them."""

    def change(conditions):
        kept = {k: v for k, v in conditions.items() if k != "results_version"}
        return kept | {"source": source, "terrafl": "0.0.9"}

    return change


def test_a_checkpoint_of_older_code_is_refused_because_its_results_are_unknown(run, rewritten):
    rewritten(as_before_results_versions("0123456789ab"))

    changed = rf"\n  results_version  unknown \(source 0123456789ab\) -> {RESULTS_VERSION}\n"
    with pytest.raises(RunFolderError, match=changed):
        resume(run)
    assert resume(run, allow_drift=True).summary.rounds == 3


USER_SELECTOR = """
from dataclasses import dataclass
from terrafl.selection import Random

@dataclass(slots=True, kw_only=True)
class Mine(Random):
    pass
"""


def test_another_source_of_a_users_class_is_refused(tiny, tmp_path, monkeypatch):
    module = tmp_path / "users_selector.py"
    module.write_text(USER_SELECTOR)
    monkeypatch.syspath_prepend(tmp_path)
    config = tiny(rounds=3, selector="users_selector:Mine")
    with pytest.raises(Interrupted):
        execute(config, tmp_path / "run", on_round=stop_after(1), checkpoint_every_s=0)
    assert "code.users_selector" in drift.stored_versions(RunFolder(tmp_path / "run"))

    module.write_text(USER_SELECTOR + "# edited\n")
    with pytest.raises(RunFolderError, match=r"  code\.users_selector  \w{12} -> \w{12}\n"):
        resume(tmp_path / "run")

    module.write_text(USER_SELECTOR)
    assert resume(tmp_path / "run").summary.rounds == 3


def test_a_checkpoint_keeps_what_the_result_depends_on(run):
    newest = max((run / "checkpoints").iterdir())
    manifest = json.loads(json.loads((newest / "manifest.json").read_text())["manifest"])

    kept = manifest["values"]["conditions"]
    assert kept["training.learning_rate"] == "0.05"
    assert kept["selector.name"] == '"oort"'
    assert {name: kept[name] for name in DECISIVE} == {
        name: value for name, value in versions().items() if name in DECISIVE
    }


def test_other_data_than_the_run_was_begun_with_is_refused(run, monkeypatch):
    load_data = assemble.load_data

    def relabelled(config, workers):
        dataset = load_data(config, workers)
        train = replace(dataset.train, y=dataset.train.y % 5)
        return replace(dataset, train=train)

    with monkeypatch.context() as patch:
        patch.setattr(assemble, "load_data", relabelled)
        before = files(run)
        with pytest.raises(RunFolderError, match="was started with other data than there is now"):
            resume(run)
        assert files(run) == before

    assert resume(run).summary.rounds == 3
