"""Anonymous memory that a parent and its children share.

There is nothing to clean up: the memory has no name and goes with the last process that holds
it, however that process ends.
"""

import math
import mmap
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64  # a cache line


class Place(NamedTuple):
    """Where an array lies, in words that JSON can hold."""

    offset: int
    dtype: str
    shape: tuple[int, ...]


def places_of(plain: Mapping[str, Sequence[Any]]) -> dict[str, Place]:  # Any: JSON values
    """Take up places that travelled as JSON."""
    return {name: Place(o, d, tuple(shape)) for name, (o, d, shape) in plain.items()}


class SharedMemory:
    """A growing block of shared memory that holds named arrays.

    Parameters
    ----------
    descriptor
        Of a block made by another process; ``None`` makes one.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _new_block() if descriptor is None else descriptor
        self._size = 0

    def allocate(self, shapes: Mapping[str, tuple[str, tuple[int, ...]]]) -> dict[str, Place]:
        """Make room for arrays of these types and shapes behind what is there."""
        places = {}
        for name, (dtype, shape) in shapes.items():
            places[name] = Place(self._size, dtype, tuple(shape))
            num_bytes = np.dtype(dtype).itemsize * math.prod(shape)
            self._size += -(-max(num_bytes, 1) // _ALIGNMENT) * _ALIGNMENT
        os.ftruncate(self.descriptor, self._size)
        return places

    def store(self, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, Place]:
        """Copy arrays in; return where they lie."""
        places = self.allocate({name: (a.dtype.str, a.shape) for name, a in arrays.items()})
        for name, view in self.view(places).items():
            view[...] = arrays[name]
        return places

    def view(self, places: Mapping[str, Place]) -> dict[str, NDArray[np.generic]]:
        """Return the arrays at these places; they keep the memory alive."""
        block = mmap.mmap(self.descriptor, os.fstat(self.descriptor).st_size)
        return {
            name: np.ndarray(place.shape, place.dtype, buffer=block, offset=place.offset)
            for name, place in places.items()
        }

    def close(self) -> None:
        """Let go of the descriptor; arrays in view stay valid."""
        os.close(self.descriptor)


def _new_block() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("terrafl")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
