"""After a crash: which state a run goes on from, and when it is refused."""

import pytest
from made_events import an_event

from terrafl.errors import RunFolderError
from terrafl.runs import Journal, RunFolder
from terrafl.runs.checkpoint import Checkpoint, save


@pytest.fixture
def folder(tmp_path):
    """Return a run with checkpoints 1 and 2, each after an event of its own."""
    folder = RunFolder(tmp_path)
    journal = Journal(folder.journal)
    for number in (1, 2):
        journal.append(an_event({"event": "drawn", "round": number}))
        covered = {"journal_bytes": journal.sync(), "journal_sha256": journal.sha256}
        save(folder.checkpoints, number, Checkpoint({"number": number, **covered}, {}))
    journal.append(an_event({"event": "drawn", "round": 3}))
    journal.close()
    return folder


def number_of(checkpoint):
    return checkpoint.values["number"]


def test_the_newest_state_is_found(folder, caplog):
    assert number_of(folder.recover()) == 2
    assert caplog.text == ""


def test_a_run_without_checkpoints_begins_quietly(tmp_path, caplog):
    assert RunFolder(tmp_path).recover() is None
    assert caplog.text == ""


def test_a_damaged_checkpoint_gives_way_to_the_one_before(folder, caplog):
    (folder.checkpoints / "000000002" / "manifest.json").write_bytes(b"")

    assert number_of(folder.recover()) == 1
    assert "000000002 is damaged and was passed over" in caplog.text


def test_a_journal_cut_behind_the_first_checkpoint_costs_the_second(folder, caplog):
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    folder.journal.write_bytes(lines[0] + lines[1][:-3])

    assert number_of(folder.recover()) == 1
    assert "000000002 covers another journal and was passed over" in caplog.text


@pytest.mark.parametrize("damage", ["deleted", "edited", "cut", "swapped"])
def test_a_journal_that_no_checkpoint_knows_is_refused_and_left_alone(folder, damage):
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    changed = {
        "deleted": None,
        "edited": lines[0].replace(b"1", b"7") + lines[1],
        "cut": lines[0][:-1],
        "swapped": lines[1] + lines[0],
    }[damage]
    folder.journal.unlink() if changed is None else folder.journal.write_bytes(changed)

    with pytest.raises(RunFolderError, match=r"journal that .*000000001 was made with") as refused:
        folder.recover()
    assert str(refused.value).endswith("or start the run again in another folder.")

    assert changed is None or folder.journal.read_bytes() == changed
    folder.journal.write_bytes(b"".join(lines))
    assert number_of(folder.recover()) == 2


def test_without_a_whole_checkpoint_the_run_begins_again_loudly(folder, caplog):
    for path in folder.checkpoints.rglob("arrays.safetensors"):
        path.unlink()

    assert folder.recover() is None
    assert "has no whole checkpoint: the run begins again" in caplog.text


@pytest.mark.parametrize("covered", [{}, {"journal_bytes": "9", "journal_sha256": ""}])
def test_a_checkpoint_that_does_not_say_what_it_covers_is_passed_over(folder, caplog, covered):
    save(folder.checkpoints, 3, Checkpoint({"number": 3, **covered}, {}))

    assert number_of(folder.recover()) == 2
    assert "000000003 does not say what it covers" in caplog.text
