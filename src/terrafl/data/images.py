"""Decode small images; the format and the size are checked before any pixel is unpacked."""

import io
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import DataError

_BROKEN = (OSError, ValueError, SyntaxError, EOFError, TypeError, IndexError)  # Pillow raises these


def decode_image(
    content: bytes,
    name: str,
    *,
    kind: Literal["JPEG", "PNG"],
    side: int,
    mode: Literal["L", "RGB"],
) -> NDArray[np.uint8]:
    """Return an image as (channels, side, side).

    Parameters
    ----------
    content
        The file.
    name
        The file's name, for error messages.
    kind
        The only accepted format.
    side
        The required height and width in pixels.
    mode
        ``RGB`` for three channels (equal ones for a grey image); ``L`` for one.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content), formats=[kind]) as image:
            size = image.size
            pixels = np.asarray(image.convert(mode)) if size == (side, side) else None
    except (*_BROKEN, Image.DecompressionBombError) as error:
        raise DataError(f"{name} must be a whole {kind} image; got: {error}.") from error
    if pixels is None:
        raise DataError(f"{name} must be {side} x {side} pixels; got {size}.")
    return pixels.reshape(side, side, -1).transpose(2, 0, 1)
