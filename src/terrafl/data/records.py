"""The binary records of CIFAR: label bytes, then the red, green and blue plane of one image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from terrafl.data.files import Bytes
from terrafl.errors import DataError

__all__ = ["decode_records"]

_IMAGE = (3, 32, 32)
_PIXELS = 3 * 32 * 32


def decode_records(
    content: Bytes, name: str, *, label_bytes: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (n, 3, 32, 32), a view of the content, and the last label byte of each.

    Parameters
    ----------
    content
        The file.
    name
        What to call it in an error.
    label_bytes
        Bytes before each image: CIFAR-10 has one, CIFAR-100 the coarse and the fine label.

    Examples
    --------
    >>> x, y = decode_records(bytes([19, 99]) + bytes(3072), "one.bin", label_bytes=2)
    >>> x.shape, y
    ((1, 3, 32, 32), array([99]))
    """
    length = label_bytes + _PIXELS
    if len(content) == 0 or len(content) % length:
        raise DataError(
            f"{name} must be records of {length} bytes; got {len(content)} bytes. "
            "Fetch the file again."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, length)
    x = records[:, label_bytes:].reshape(-1, *_IMAGE)
    return x, records[:, label_bytes - 1].astype(np.int64)
