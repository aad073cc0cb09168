"""Checkpoints: whole or passed over."""

import errno
import hashlib
import json
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from terrafl.runs import atomic
from terrafl.runs.checkpoint import Checkpoint, discard, load, save

FILES = ["manifest.json", "arrays.safetensors"]


def load_newest(folder):
    return next((checkpoint for _, checkpoint in load(folder)), None)


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


def test_all_can_be_discarded_and_what_is_no_checkpoint_stays(folder):
    (folder / ".000000003.tmp").mkdir()
    (folder / "notes").mkdir()
    (folder / "12").mkdir()

    discard(folder)

    assert sorted(path.name for path in folder.iterdir()) == ["12", "notes"]


def test_a_folder_of_checkpoints_goes_with_the_last_of_them(folder):
    discard(folder)

    assert not folder.exists()


@pytest.mark.parametrize("name", FILES)
def test_a_full_disk_leaves_the_checkpoints_as_they_were(folder, name, monkeypatch):
    write = atomic.write_synced

    def write_half(path, data):
        write(path, data[: len(data) // 2] if path.name == name else data)
        if path.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("terrafl.runs.checkpoint.write_synced", write_half)

    with pytest.raises(OSError, match="No space left"):
        save(folder, 3, a_checkpoint(3))

    assert sorted(path.name for path in folder.iterdir()) == ["000000001", "000000002"]
    assert same(load_newest(folder), a_checkpoint(2))


@given(
    st.sampled_from(FILES),
    st.one_of(
        st.binary(max_size=60),
        st.just(b"[" * 100_000),
        st.just(b'{"manifest":' * 20_000),
        st.just(b'{"manifest": "{}", "sha256": 3}'),
        st.just((1 << 40).to_bytes(8, "little") + b"{}"),
    ),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_whatever_a_file_holds_it_is_passed_over(tmp_path_factory, name, content):
    folder = tmp_path_factory.mktemp("run") / "checkpoints"
    for number in (1, 2):
        save(folder, number, a_checkpoint(number))
    (folder / "000000002" / name).write_bytes(content)

    assert same(load_newest(folder), a_checkpoint(1))


def sealed(manifest, arrays=b""):
    """Write a manifest with the right checksums, as whoever forges one would."""
    text = json.dumps(manifest | {"sha256": hashlib.sha256(arrays).hexdigest()})
    return json.dumps({"manifest": text, "sha256": hashlib.sha256(text.encode()).hexdigest()})


def safetensors_header(shape, end):
    header = {"model": {"dtype": "F32", "shape": shape, "data_offsets": [0, end]}}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


@given(
    arrays=st.binary(max_size=40)
    | st.builds(
        safetensors_header,
        st.lists(st.integers(0, 2**62), max_size=3),
        st.integers(0, 2**62),
    ),
    values=st.none() | st.integers() | st.lists(st.integers(), max_size=2),
)
@settings(derandomize=True, deadline=None, max_examples=80)
def test_a_forged_checkpoint_is_passed_over_and_allocates_nothing(tmp_path_factory, arrays, values):
    folder = tmp_path_factory.mktemp("run") / "checkpoints"
    save(folder, 1, a_checkpoint(1))
    (folder / "000000002").mkdir()
    (folder / "000000002" / "arrays.safetensors").write_bytes(arrays)
    (folder / "000000002" / "manifest.json").write_text(sealed({"values": values}, arrays))

    assert same(load_newest(folder), a_checkpoint(1))
