"""The journal: what was written stands, what was torn does not."""

import hashlib
import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_events import an_event

from terrafl.errors import RunFolderError
from terrafl.runs import Journal, read_lines
from terrafl.runs.journal import starts_with, whole_lines

FIRST = {"event": "drawn", "round": 0}
SECOND = {"event": "split", "round": 1, "tau": 2}
THIRD = {"event": "noted", "round": 2, "é": [1.5]}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, *events, keep=0):
    journal = Journal(path, keep=keep)
    for event in events:
        journal.append(an_event(event))
    length = journal.sync()
    journal.close()
    return length


def test_events_are_read_as_they_were_written(path):
    length = write(path, FIRST, SECOND, THIRD)

    assert list(read_lines(path)) == [FIRST, SECOND, THIRD]
    assert length == path.stat().st_size


def test_an_event_is_one_line_of_compact_json(path):
    write(path, FIRST, THIRD)

    assert path.read_text(encoding="utf-8") == (
        '{"event":"drawn","round":0}\n{"event":"noted","round":2,"é":[1.5]}\n'
    )


def test_an_event_can_be_read_before_the_journal_is_closed(path):
    journal = Journal(path)

    journal.append(an_event(FIRST))

    assert list(read_lines(path)) == [FIRST]
    journal.close()


def test_what_lies_beyond_the_checkpoint_is_written_again(path):
    covered = write(path, FIRST)
    write(path, SECOND, SECOND, keep=covered)

    write(path, THIRD, keep=covered)

    assert list(read_lines(path)) == [FIRST, THIRD]


def test_a_torn_tail_is_cut_off(path):
    covered = write(path, FIRST)
    with path.open("ab") as file:
        file.write(b'{"event":"spl')

    write(path, THIRD, keep=covered)

    assert list(read_lines(path)) == [FIRST, THIRD]


def test_without_a_checkpoint_nothing_stands(path):
    write(path, FIRST, SECOND)

    write(path, THIRD)

    assert list(read_lines(path)) == [THIRD]


def test_a_journal_shorter_than_its_checkpoint_says_is_refused(path):
    covered = write(path, FIRST, SECOND)
    path.write_bytes(path.read_bytes()[:20])

    with pytest.raises(RunFolderError, match=f"at least the {covered} bytes .* it has 20"):
        Journal(path, keep=covered)

    assert path.stat().st_size == 20


def test_a_number_that_json_does_not_have_is_refused(path):
    journal = Journal(path)

    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append(an_event(FIRST | {"loss": float("nan")}))

    journal.close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize("torn", [b"{", b'{"event":"split"}', b"\xff\xfe"], ids=repr)
def test_a_last_line_without_an_end_is_left_out(path, torn):
    write(path, FIRST)
    with path.open("ab") as file:
        file.write(torn)

    assert list(read_lines(path)) == [FIRST]


@pytest.mark.parametrize(
    "damage",
    [b"{]\n", b"[1]\n", b"\n", b"\xff\xfe\n", b"{}{}\n", b"null\n", b'{"a":' * 50_000 + b"\n"],
    ids=lambda damage: repr(damage[:9]),
)
def test_a_damaged_line_is_named(path, damage):
    write(path, FIRST)
    path.write_bytes(path.read_bytes() + damage + path.read_bytes())

    events = read_lines(path)

    assert next(events) == FIRST
    with pytest.raises(RunFolderError, match=r"journal\.jsonl, line 2, must be an event"):
        next(events)


def test_a_journal_that_is_missing_is_named(path):
    with pytest.raises(RunFolderError, match=r"journal\.jsonl cannot be read: No such file"):
        list(read_lines(path))


def test_the_digest_is_that_of_the_file_however_often_it_was_opened(path):
    covered = write(path, FIRST, SECOND)
    journal = Journal(path, keep=covered)

    journal.append(an_event(THIRD))

    assert journal.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    journal.close()


def test_a_beginning_is_known_by_its_length_and_digest(path):
    covered = write(path, FIRST, SECOND)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert starts_with(path, covered, digest)
    assert starts_with(path, 0, hashlib.sha256().hexdigest())

    with path.open("ab") as file:
        file.write(b"more")
    assert starts_with(path, covered, digest)

    path.write_bytes(path.read_bytes().replace(b"drawn", b"drawN"))
    assert not starts_with(path, covered, digest)
    path.write_bytes(path.read_bytes()[: covered - 1])
    assert not starts_with(path, covered, digest)
    path.unlink()
    assert not starts_with(path, covered, digest)


@given(st.binary(max_size=20))
@settings(derandomize=True, deadline=None)
def test_whole_lines_end_where_the_last_line_ends(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("lines") / "log"
    assert whole_lines(path) == 0

    path.write_bytes(content)

    assert whole_lines(path) == content.rfind(b"\n") + 1


def test_a_full_disk_tears_one_line_at_most_and_closing_is_no_second_failure(path):
    covered = write(path, FIRST)
    journal = Journal(path, keep=covered)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (covered + 7, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.append(an_event(SECOND))
        journal.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.stat().st_size == covered + 7
    assert list(read_lines(path)) == [FIRST]
    write(path, SECOND, keep=covered)
    assert list(read_lines(path)) == [FIRST, SECOND]


@given(st.lists(st.binary(max_size=12), max_size=6).map(b"\n".join))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_whatever_a_journal_holds_it_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("run") / "journal.jsonl"
    path.write_bytes(content)

    try:
        events = list(read_lines(path))
    except RunFolderError:
        return
    assert len(events) == content.count(b"\n")
    assert all(isinstance(event, dict) for event in events)
