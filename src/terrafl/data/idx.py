"""IDX, the file format of MNIST and its relatives.

Two zero bytes, a byte for the type (8: unsigned bytes), a byte for the number of dimensions,
the dimensions as big-endian 32-bit numbers, then the values, last dimension fastest.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

from terrafl.data.files import Bytes
from terrafl.errors import DataError

__all__ = ["decode_idx"]

_UNSIGNED_BYTES = b"\x00\x00\x08"
_MAX_DIMENSIONS = 3


def decode_idx(content: Bytes, name: str) -> NDArray[np.uint8]:
    """Return the array in an IDX file of unsigned bytes.

    Nothing is allocated before the header has been found to agree with the length.

    Parameters
    ----------
    content
        The file, uncompressed.
    name
        What to call it in an error.

    Examples
    --------
    >>> decode_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]), "three.idx")
    array([[7, 8, 9]], dtype=uint8)
    """
    if content[:3] != _UNSIGNED_BYTES:
        raise _fault(name, "start with bytes 00 00 08 (IDX, unsigned)", content[:3].hex(" "))
    dimensions = content[3] if len(content) > 3 else 0
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise _fault(name, f"have 1 to {_MAX_DIMENSIONS} dimensions", str(dimensions))
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise _fault(name, f"have a header of {start} bytes", f"{len(content)} bytes")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    declared = math.prod(shape)  # Python's integers: no overflow
    if declared == 0 or len(content) - start != declared:
        sizes = " x ".join(map(str, shape))
        raise _fault(name, f"hold the {sizes} values it declares", f"{len(content) - start}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy()


def _fault(name: str, must: str, got: str) -> DataError:
    return DataError(f"{name} must {must}; got {got or 'nothing'}. Fetch the file again.")
