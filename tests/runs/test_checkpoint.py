"""Checkpoints: whole or passed over."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from terrafl.runs.checkpoint import Checkpoint, load_newest, save

FILES = ["manifest.json", "arrays.safetensors"]


def a_checkpoint(number):
    return Checkpoint(
        {"number": number, "cohort": [["a", "b"], [1, 2]], "best": None, "text": "é\n"},
        {
            "model": np.arange(4, dtype=np.float32) + number,
            "selector.heard": np.array([number > 1]),
        },
    )


def same(one, other):
    return (
        one.values == other.values
        and one.arrays.keys() == other.arrays.keys()
        and all(np.array_equal(one.arrays[k], other.arrays[k]) for k in one.arrays)
        and all(one.arrays[k].dtype == other.arrays[k].dtype for k in one.arrays)
    )


@pytest.fixture
def folder(tmp_path):
    """Return a folder with checkpoints 1 and 2."""
    path = tmp_path / "checkpoints"
    for number in (1, 2):
        save(path, number, a_checkpoint(number))
    return path


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.WARNING)
    return lambda: [record.getMessage() for record in caplog.records]


def test_the_newest_checkpoint_comes_back_as_it_was_saved(folder, warnings):
    assert same(load_newest(folder), a_checkpoint(2))
    assert warnings() == []


@given(
    array=arrays(
        st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_]),
        array_shapes(max_dims=3, min_side=0, max_side=4),
    ),
    values=st.dictionaries(
        st.text(max_size=5),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False),
        max_size=4,
    ),
)
@settings(derandomize=True, deadline=None, max_examples=20)
def test_any_arrays_and_values_come_back_to_the_last_bit(tmp_path_factory, array, values):
    folder = tmp_path_factory.mktemp("run") / "checkpoints"

    save(folder, 1, Checkpoint(values, {"array": array, "transposed": array.T}))

    loaded = load_newest(folder)
    assert loaded.values == values
    assert loaded.arrays["array"].tobytes() == array.tobytes()
    assert loaded.arrays["transposed"].tobytes() == np.ascontiguousarray(array.T).tobytes()
    assert loaded.arrays["array"].shape == array.shape


def test_two_are_kept(folder):
    for number in (3, 4):
        save(folder, number, a_checkpoint(number))

    assert sorted(path.name for path in folder.iterdir()) == ["000000003", "000000004"]


def test_there_may_be_none(tmp_path):
    assert load_newest(tmp_path / "checkpoints") is None


def test_a_number_saved_again_replaces_the_first(folder):
    save(folder, 2, a_checkpoint(7))

    assert same(load_newest(folder), a_checkpoint(7))


def test_a_checkpoint_that_was_being_written_does_not_count(folder, warnings):
    torn = folder / ".000000003.tmp"
    torn.mkdir()
    (torn / "arrays.safetensors").write_bytes(b"half")

    assert same(load_newest(folder), a_checkpoint(2))
    assert warnings() == []

    save(folder, 3, a_checkpoint(3))
    assert same(load_newest(folder), a_checkpoint(3))
    assert not torn.exists()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_passes_the_checkpoint_over(folder, name, warnings):
    (folder / "000000002" / name).unlink()

    assert same(load_newest(folder), a_checkpoint(1))
    assert warnings() == [
        f"checkpoint {folder / '000000002'} is damaged and was passed over for the one before it"
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_short_anywhere_passes_the_checkpoint_over(folder, name, caplog):
    path = folder / "000000002" / name
    whole = path.read_bytes()

    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        caplog.clear()

        assert same(load_newest(folder), a_checkpoint(1)), length
        assert "000000002 is damaged" in caplog.text


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_a_byte_changed_anywhere_is_never_believed(folder, name, mask, caplog):
    path = folder / "000000002" / name
    whole = path.read_bytes()

    passed_over = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
        caplog.clear()
        loaded = load_newest(folder)

        if "000000002 is damaged" in caplog.text:
            passed_over += 1
            assert same(loaded, a_checkpoint(1)), place
        else:  # a space between two tokens, say: nothing is lost
            assert same(loaded, a_checkpoint(2)), place

    assert passed_over >= len(whole) - 3


def test_when_all_are_damaged_there_is_none(folder, warnings):
    for path in folder.rglob("manifest.json"):
        path.write_bytes(b"[]")

    assert load_newest(folder) is None
    assert len(warnings()) == 2


def test_arrays_of_another_checkpoint_are_not_believed(folder, warnings):
    other = (folder / "000000001" / "arrays.safetensors").read_bytes()
    (folder / "000000002" / "arrays.safetensors").write_bytes(other)

    assert same(load_newest(folder), a_checkpoint(1))
    assert len(warnings()) == 1
