"""Reading a file that grows, shrinks, vanishes and comes back."""

import pytest

from terrafl.reports.live.tail import Tail


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def write(path, *numbers, mode="a", end="\n"):
    with path.open(mode) as file:
        file.write("".join(f'{{"n":{n}}}{end}' for n in numbers))


def numbers(events):
    return [event["n"] for event in events]


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


def test_a_damaged_line_is_passed_over(path):
    path.write_text('{"n":1}\nnonsense\n[1]\n{"n":2}\n')

    assert numbers(Tail(path).read()[1]) == [1, 2]
