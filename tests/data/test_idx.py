from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from terrafl.data.sets.fmnist import decode_idx
from terrafl.errors import DataError


def encode(array: np.ndarray) -> bytes:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))


@settings(derandomize=True)
@given(arrays)
def test_what_was_written_is_read(array):
    decoded = decode_idx(encode(array), "file")

    assert decoded.tolist() == array.tolist()
    assert decoded.flags.writeable


@settings(derandomize=True, max_examples=300)
@given(st.binary(max_size=40) | st.binary(max_size=40).map(lambda tail: b"\0\0\x08" + tail))
def test_any_bytes_are_an_array_or_a_data_error(content):
    try:
        decoded = decode_idx(content, "file")
    except DataError:
        return
    assert encode(decoded) == content


@settings(derandomize=True, max_examples=200)
@given(arrays, st.data())
def test_one_damaged_header_byte_is_an_array_or_a_data_error(array, data):
    content = bytearray(encode(array))
    position = data.draw(st.integers(0, 4 + 4 * array.ndim - 1))
    content[position] = data.draw(st.integers(0, 255))

    try:
        decoded = decode_idx(bytes(content), "file")
    except DataError:
        return
    assert encode(decoded) == bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"file must start with bytes 00 00 08 .*; got nothing\."),
        (b"\x1f\x8b\x08\x00", r"file must start with bytes 00 00 08 .*; got 1f 8b 08\."),
        (b"\0\0\x0d\x01" + b"\0\0\0\x01" + b"\0\0\0\0", r"must start with .*; got 00 00 0d\."),
        (b"\0\0\x08", r"must have 1 to 3 dimensions; got 0\."),
        (b"\0\0\x08\xff" + b"\0\0\0\x01" * 255 + b"x", r"must have 1 to 3 dimensions; got 255\."),
        (b"\0\0\x08\x03\0\0\0\x01", r"must have a header of 16 bytes; got 8 bytes\."),
        (b"\0\0\x08\x01\0\0\0\x03ab", r"must hold the 3 values it declares; got 2\."),
        (b"\0\0\x08\x01\0\0\0\x01ab", r"must hold the 1 values it declares; got 2\."),
        (b"\0\0\x08\x01\0\0\0\0", r"must hold the 0 values it declares; got 0\."),
        (
            b"\0\0\x08\x03" + b"\xff" * 12 + b"ab",
            r"must hold the 4294967295 x 4294967295 x 4294967295 values it declares; got 2\.",
        ),
        (
            b"\0\0\x08\x03" + struct.pack(">III", 2**30, 2**5, 2**5) + b"ab",  # 2^40 values
            r"must hold the 1073741824 x 32 x 32 values it declares; got 2\.",
        ),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named_with_what_was_found(content, message):
    with pytest.raises(DataError, match=message):
        decode_idx(content, "file")
