"""Reading a file that grows, shrinks, vanishes and comes back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.runs import Tail, read_events


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, *numbers, mode="a", end="\n"):
    with path.open(mode) as file:
        file.write("".join(f'{{"event":"drawn","round":{n}}}{end}' for n in numbers))


def numbers(events):
    return [event.round for event in events]


def test_every_line_is_read_once(path):
    tail = Tail(path)

    before = tail.read()
    write(path, 1, 2)
    first = tail.read()
    write(path, 3)
    second = tail.read()

    assert before == (False, [])
    assert (first[0], numbers(first[1])) == (False, [1, 2])
    assert (second[0], numbers(second[1])) == (False, [3])
    assert tail.read() == (False, [])


def test_a_line_that_is_being_written_waits_for_its_end(path):
    tail = Tail(path)
    write(path, 1, end="")

    half = tail.read()
    write(path, end="")
    with path.open("a") as file:
        file.write("\n")

    assert half == (False, [])
    assert numbers(tail.read()[1]) == [1]


def test_a_file_that_was_cut_back_is_read_afresh(path):
    tail = Tail(path)
    write(path, 1, 2, 3)
    tail.read()

    write(path, 1, mode="w")
    afresh, events = tail.read()

    assert afresh
    assert numbers(events) == [1]


def test_another_file_in_its_place_is_read_afresh_even_if_longer(path):
    tail = Tail(path)
    write(path, 1)
    tail.read()

    write(path, 7, 8, 9, mode="w")
    afresh, events = tail.read()

    assert afresh
    assert numbers(events) == [7, 8, 9]


def test_a_file_that_vanishes_and_comes_back_is_read_afresh(path):
    tail = Tail(path)
    write(path, 1, 2)
    tail.read()

    path.unlink()
    gone = tail.read()
    write(path, 1)

    assert gone == (True, [])
    assert numbers(tail.read()[1]) == [1]


def test_a_file_that_was_cut_back_and_has_outgrown_its_old_length_is_read_afresh(path):
    tail = Tail(path)
    write(path, *range(500))
    tail.read()

    write(path, *range(499), 777, 778, mode="w")  # the same beginning, another end
    restarted, events = tail.read()

    assert restarted
    assert numbers(events) == [*range(499), 777, 778]


def test_a_file_that_was_cut_back_and_written_again_with_the_same_bytes_is_read_on(path):
    tail = Tail(path)
    write(path, *range(500))
    tail.read()

    write(path, *range(502), mode="w")

    assert tail.read().restarted is False
    assert tail.read() == (False, [])


def test_a_damaged_line_is_skipped_and_the_first_one_is_named(path):
    tail = Tail(path)
    write(path, 1)
    with path.open("a") as file:
        file.write('nonsense\n[1]\n{"event":"drawn","round":-1}\n' + '{"a":' * 50_000 + "\n")
    write(path, 2)

    assert numbers(tail.read().events) == [1, 2]
    assert tail.problem.startswith("journal.jsonl, line 2, is damaged: ")

    write(path, 3, mode="w")
    assert numbers(tail.read().events) == [3]
    assert tail.problem == ""


def test_line_numbers_count_all_readings(path):
    tail = Tail(path)
    for number in range(3):
        write(path, number)
        tail.read()
    with path.open("a") as file:
        file.write("?\n")
    tail.read()

    assert "line 4," in tail.problem


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=8))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_readings_add_up_to_the_file_whatever_is_cut_and_written(tmp_path_factory, changes):
    path = tmp_path_factory.mktemp("tail") / "journal.jsonl"
    tail, known = Tail(path), []
    for step, (keep, more) in enumerate(changes):
        content = path.read_bytes()[:keep] if path.exists() else b""
        content = content[: content.rfind(b"\n") + 1]
        new = b"".join(b'{"event":"e","round":%d}\n' % (10 * step + n) for n in range(more))
        path.write_bytes(content + new)
        restarted, events = tail.read()
        known = [*([] if restarted else known), *events]

        assert known == list(read_events(path))
