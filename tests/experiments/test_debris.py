"""What killed starts, deleted files and other accidents leave behind, and what follows."""

import shutil

import pytest

from terrafl.errors import RunFolderError
from terrafl.experiments.run import execute, resume


class Interrupted(Exception):
    """Stands for whatever stops a run."""


def stop(done, planned, accuracy):
    if done == 2:
        raise Interrupted


@pytest.fixture
def three(tiny):
    """Return configurations of three rounds."""
    return lambda **changes: tiny(rounds=3, **changes)


@pytest.fixture
def run(three, tmp_path):
    """Return the folder of a run that was interrupted after its second round."""
    with pytest.raises(Interrupted):
        execute(three(selector="oort"), tmp_path / "run", on_round=stop, checkpoint_every_s=0)
    return tmp_path / "run"


@pytest.fixture
def whole(three, tmp_path, written):
    execute(three(selector="oort"), tmp_path / "whole")
    return written(tmp_path / "whole")


def test_a_start_killed_before_its_configuration_was_whole_starts_afresh(
    three, tmp_path, written, whole
):
    debris = tmp_path / "run"
    debris.mkdir()
    (debris / ".lock").touch()
    (debris / ".config.toml.tmp").write_text("dataset = ")

    execute(three(selector="oort"), debris)

    assert written(debris) == whole
    assert not (debris / ".config.toml.tmp").exists()


def test_the_state_of_another_run_is_not_taken_up_by_a_fresh_one(three, run, tmp_path, written):
    (run / "config.toml").unlink()

    execute(three(selector="hics", seed=5), run)

    execute(three(selector="hics", seed=5), tmp_path / "alone")
    assert written(run) == written(tmp_path / "alone")


def test_a_run_that_could_not_begin_among_debris_leaves_its_folder_to_the_next(three, run):
    (run / "config.toml").unlink()
    with pytest.raises(ValueError, match="at most the 12 clients"):
        execute(three(clients_per_round=13), run)

    assert execute(three(), run).summary.rounds == 3


@pytest.mark.parametrize("name", ["timings.jsonl", ".lock", "checkpoints"])
def test_a_deleted_file_that_can_be_made_again_costs_time_only(run, written, whole, name):
    path = run / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()

    resume(run)

    assert written(run) == whole


def test_a_deleted_journal_is_refused_and_the_run_goes_on_once_it_is_back(run, written, whole):
    kept = (run / "journal.jsonl").read_bytes()
    (run / "journal.jsonl").unlink()

    with pytest.raises(RunFolderError, match=r"deleted, cut or edited: restore it"):
        resume(run)

    (run / "journal.jsonl").write_bytes(kept)
    resume(run)
    assert written(run) == whole


def test_a_deleted_configuration_is_refused_and_the_run_goes_on_once_it_is_back(
    run, written, whole
):
    kept = (run / "config.toml").read_bytes()
    (run / "config.toml").unlink()

    with pytest.raises(RunFolderError, match="holds no run"):
        resume(run)

    (run / "config.toml").write_bytes(kept)
    resume(run)
    assert written(run) == whole


def test_when_all_checkpoints_are_damaged_the_run_begins_again_and_keeps_its_new_ones(
    run, written, whole, caplog
):
    for path in (run / "checkpoints").rglob("arrays.safetensors"):
        path.write_bytes(b"damaged")

    with pytest.raises(Interrupted):
        resume(run, on_round=stop, checkpoint_every_s=0)
    assert "the run begins again" in caplog.text
    caplog.clear()
    resume(run)

    assert caplog.text == ""
    assert written(run) == whole


def test_a_torn_last_line_of_timings_is_cut_off(run):
    with (run / "timings.jsonl").open("ab") as file:
        file.write(b'{"event": "iterat')

    resume(run)

    lines = (run / "timings.jsonl").read_text().splitlines()
    assert all(line.startswith("{") and line.endswith("}") for line in lines)


def test_a_finished_run_is_resumed_without_being_touched(three, tmp_path):
    execute(three(), tmp_path / "run")
    (tmp_path / "run" / ".lock").unlink()
    before = {path: path.stat() for path in [tmp_path / "run", *(tmp_path / "run").rglob("*")]}

    assert resume(tmp_path / "run").summary.rounds == 3

    assert before == {path: path.stat() for path in before}
    assert not (tmp_path / "run" / ".lock").exists()
