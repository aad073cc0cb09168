from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from terrafl.data.images import decode_image
from terrafl.errors import DataError

GREY = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
COLOUR = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)


def _packed(image, kind) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind)
    return stream.getvalue()


def test_colours_come_plane_by_plane():
    image = decode_image(_packed(COLOUR, "PNG"), "a.png", kind="PNG", side=8, mode="RGB")

    assert image.shape == (3, 8, 8)
    assert np.array_equal(image.transpose(1, 2, 0), COLOUR)


def test_grey_is_one_plane_or_three_equal_ones():
    one, three = (
        decode_image(_packed(GREY, "PNG"), "a.png", kind="PNG", side=8, mode=mode)
        for mode in ("L", "RGB")
    )

    assert np.array_equal(one, GREY[np.newaxis])
    assert np.array_equal(three, np.stack([GREY] * 3))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.sampled_from(["PNG", "JPEG"]),
    st.sampled_from(["L", "RGB"]),
    st.integers(0, 800),
    st.binary(max_size=12),
)
def test_any_bytes_are_an_image_of_the_right_size_or_a_data_error(kind, mode, position, noise):
    good = _packed(COLOUR, kind)
    content = good[:position] + noise + good[position + len(noise) :]

    try:
        image = decode_image(content, "some file", kind=kind, side=8, mode=mode)
    except DataError:
        return
    assert image.shape == (1 if mode == "L" else 3, 8, 8)


@pytest.mark.parametrize("side", [50_000, 100])
def test_an_image_of_another_size_is_refused_before_it_is_unpacked(side):
    header = _packed(np.zeros((100, 100), np.uint8), "PNG")
    size = side.to_bytes(4, "big")
    chunk = b"IHDR" + size + size + header[24:29]
    content = header[:12] + chunk + zlib.crc32(chunk).to_bytes(4, "big") + header[33:]

    with pytest.raises(DataError, match=r"must be 8 x 8 pixels|must be a whole PNG image"):
        decode_image(content, "bomb.png", kind="PNG", side=8, mode="L")
