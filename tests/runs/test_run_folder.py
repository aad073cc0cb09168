"""The folder of a run: what is in it, and who holds it."""

import errno
import os
import subprocess
import sys

import pytest

from terrafl.errors import RunFolderError, StorageError
from terrafl.runs import RunFolder

HOLDER = """
import sys
from pathlib import Path
from terrafl.runs import RunFolder
with RunFolder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def another_process(tmp_path):
    """Return a process that holds the folder ``run``."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.kill()


def test_a_folder_in_use_by_another_process_is_refused(tmp_path, another_process):
    folder = RunFolder(tmp_path / "run")

    with pytest.raises(RunFolderError, match="run is in use by another process"), folder:
        pass


def test_a_killed_process_lets_go_of_its_folder(tmp_path, another_process):
    another_process.kill()
    another_process.wait()

    with RunFolder(tmp_path / "run") as folder:
        assert folder.path.is_dir()


def test_a_folder_can_be_held_again_after_it_was_let_go(tmp_path):
    folder = RunFolder(tmp_path / "run")

    with folder:
        pass
    with folder:
        pass


def test_the_folder_and_those_above_it_are_created(tmp_path):
    with RunFolder(tmp_path / "a" / "b" / "run") as folder:
        assert folder.path.is_dir()
        assert not folder.is_started


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "run").write_text("something else")

    with (
        pytest.raises(RunFolderError, match="run must be a folder that can be written to"),
        RunFolder(tmp_path / "run"),
    ):
        pass


def test_the_first_file_starts_a_run_and_the_last_completes_it(tmp_path):
    folder = RunFolder(tmp_path)
    stages = [(folder.is_started, folder.is_complete)]

    for path in (folder.config, folder.summary):
        path.touch()
        stages.append((folder.is_started, folder.is_complete))

    assert stages == [(False, False), (True, False), (True, True)]


@pytest.mark.parametrize(("started", "hint"), [(False, "terrafl run"), (True, "terrafl resume")])
def test_the_summary_of_an_unfinished_run_is_refused_with_the_next_step(tmp_path, started, hint):
    folder = RunFolder(tmp_path)
    if started:
        folder.config.touch()

    with pytest.raises(RunFolderError, match=f"holds no finished run; finish it: {hint}"):
        folder.read_summary()


def test_a_lock_deleted_by_its_last_holder_is_not_believed(tmp_path, monkeypatch):
    # Between our opening of the lock file and our locking of it, its holder discards the run.
    locked, deleted = os.open, []

    def open_and_lose(path, *flags):
        descriptor = locked(path, *flags)
        if not deleted:
            deleted.append(path)
            os.unlink(path)
        return descriptor

    monkeypatch.setattr("terrafl.runs.folder.os.open", open_and_lose)

    with RunFolder(tmp_path / "run") as folder:
        monkeypatch.undo()
        assert deleted
        with pytest.raises(RunFolderError, match="in use"), RunFolder(folder.path):
            pass


def test_what_a_killed_start_left_is_cleared_and_nothing_else(tmp_path):
    folder = RunFolder(tmp_path)
    ours = ["journal.jsonl", "timings.jsonl", ".config.toml.tmp", ".summary.json.tmp"]
    for name in (*ours, "mine.txt", ".mine.tmp"):
        (tmp_path / name).write_text("something")
    (tmp_path / "checkpoints" / "000000004").mkdir(parents=True)

    folder.clear()

    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "mine.txt"]


@pytest.mark.parametrize(("started", "hint"), [(False, "try again"), (True, "terrafl resume")])
def test_a_file_that_cannot_be_written_says_what_is_kept_and_what_to_do(tmp_path, started, hint):
    folder = RunFolder(tmp_path)
    if started:
        folder.config.touch()

    with (
        pytest.raises(StorageError, match=rf"No space left.*is kept: fix that, then.*{hint}"),
        folder.writing(),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
