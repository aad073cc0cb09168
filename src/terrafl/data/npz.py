"""Files of named arrays, as numpy writes them, judged by the arrays and not by the zip."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from terrafl.data.files import BROKEN_ZIP, Progress
from terrafl.errors import DataError

__all__ = ["ArraySpec", "Arrays", "ArraysFile", "digest_of"]

Arrays = Mapping[str, NDArray[np.generic]]

_HEADER = 4096  # more than the header of any plain array takes
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class ArraySpec(NamedTuple):
    """What an array must be: its name, its type as numpy spells it, and its shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """Bytes that the values take."""
        return int(np.prod(self.shape, dtype=object)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraysFile:
    """A published ``.npz`` file.

    Nothing is read of a member whose length does not fit, and no object is ever unpickled.

    Parameters
    ----------
    name
        The file's name.
    arrays
        What it must hold, and nothing else.
    sha256
        SHA-256 over the arrays in the order of their names, each as a line
        ``name dtype shape`` and its bytes.
    """

    name: str
    arrays: tuple[ArraySpec, ...]
    sha256: str

    def find(self, folder: Path) -> Path | None:
        """Return where the file lies in this folder, right or wrong."""
        path = folder / self.name
        return path if path.is_file() else None

    def verify(self, path: Path) -> None:
        """Raise unless the file at this path has the right content."""
        self.read(path)

    def read(self, path: Path, progress: Progress | None = None) -> Arrays:
        """Return the arrays, once they have proved to be the right ones."""
        try:
            with zipfile.ZipFile(path) as file:
                self._require_names(file, path)
                arrays = {spec.name: _array(file, spec, path) for spec in self.arrays}
        except DataError:
            raise
        except (OSError, *BROKEN_ZIP) as error:
            raise DataError(f"{path} must be a whole npz file; got: {error}.") from error
        digest = digest_of(arrays)
        if digest != self.sha256:
            raise DataError(f"the sha256 of {path}'s arrays must be {self.sha256}; got {digest}.")
        return arrays

    def _require_names(self, file: zipfile.ZipFile, path: Path) -> None:
        must = sorted(f"{spec.name}.npy" for spec in self.arrays)
        if sorted(file.namelist()) != must:
            raise DataError(f"{path} must hold {', '.join(must)}; it holds others.")


def _array(file: zipfile.ZipFile, spec: ArraySpec, path: Path) -> NDArray[np.generic]:
    limit = spec.num_bytes + _HEADER
    with file.open(f"{spec.name}.npy") as member:
        content = member.read(limit + 1)  # no more is unpacked than is asked for
    stream = io.BytesIO(content[:_HEADER])
    reader = _READERS.get(npy.read_magic(stream))
    found = reader(stream) if reader else None
    must = (spec.shape, False, np.dtype(spec.dtype))
    if found != must or len(content) != stream.tell() + spec.num_bytes:
        raise DataError(
            f"{spec.name} in {path} must be an array of {spec.dtype} and shape {spec.shape}; "
            f"got {found} in {min(len(content), limit)} bytes."
        )
    return np.frombuffer(content, dtype=spec.dtype, offset=stream.tell()).reshape(spec.shape)


def digest_of(arrays: Arrays) -> str:
    """Return the SHA-256 over arrays in the order of their names, in hexadecimal."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
