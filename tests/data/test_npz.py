from __future__ import annotations

import hashlib
import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from terrafl.data.npz import ArraysFile
from terrafl.errors import DataError

ARRAYS = {
    "x": np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    "y": np.array([1, -2], dtype=np.int64),
    "names": np.array(["ada", "bo"]),
}


def _slow_digest(arrays) -> str:
    """Compute the digest as it is written down: a line of name, type and shape, then the bytes."""
    text = b""
    for name in sorted(arrays):
        array = arrays[name]
        text += f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes()
    return hashlib.sha256(text).hexdigest()


PUBLISHED = ArraysFile(
    name="set.npz",
    limit=2000,
    sha256=_slow_digest(ARRAYS),
)


def _packed(arrays, save=np.savez) -> bytes:
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


@pytest.fixture
def read(tmp_path):
    def run(content: bytes):
        (tmp_path / "set.npz").write_bytes(content)
        return PUBLISHED.read(tmp_path / "set.npz")

    return run


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_the_arrays_count_whatever_the_zip_is_like(read, save):
    arrays = read(_packed(ARRAYS, save))

    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": ARRAYS["x"] + np.uint8(1)}, "the sha256 of .*'s arrays must be"),
        ({"x": ARRAYS["x"][:1]}, "the sha256 of .*'s arrays must be"),
        ({"x": ARRAYS["x"].astype(np.int8)}, "the sha256 of .*'s arrays must be"),
        ({"y": np.array([1, None], dtype=object)}, "numpy.savez wrote; got: Object arrays"),
        ({"z": ARRAYS["y"]}, "the sha256 of .*'s arrays must be"),
        ({"x": np.zeros(2000, np.uint8)}, "got: .* bytes, and at most 2000 are expected"),
    ],
    ids=["value", "shape", "type", "objects", "name", "size"],
)
def test_other_arrays_are_refused(read, change, message):
    content = _packed(ARRAYS | change)

    with pytest.raises(DataError, match=message):
        read(content)


def test_a_file_twice_of_one_name_is_refused(read, tmp_path):
    stream = io.BytesIO(_packed(ARRAYS))
    with zipfile.ZipFile(stream, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("x.npy", b"another")

    with pytest.raises(DataError, match=r"numpy\.savez wrote; got"):
        read(stream.getvalue())


def test_a_bomb_is_refused_before_it_is_unpacked(read):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ARRAYS:
            file.writestr(f"{name}.npy", bytes(30_000_000))
    tracemalloc.start()

    with pytest.raises(DataError):
        read(stream.getvalue())

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@settings(
    derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 1500), st.binary(max_size=30), st.sampled_from([np.savez, np.savez_compressed])
)
def test_any_bytes_are_the_arrays_or_a_data_error(read, position, noise, save):
    good = _packed(ARRAYS, save)
    content = good[:position] + noise + good[position + len(noise) :]

    try:
        arrays = read(content)
    except DataError:
        return
    assert _slow_digest(arrays) == PUBLISHED.sha256


def test_a_missing_file_is_not_found_and_a_folder_not_read(tmp_path):
    assert PUBLISHED.find(tmp_path) is None
    with pytest.raises(DataError, match=r"must be a file that numpy\.savez wrote"):
        PUBLISHED.verify(tmp_path)
