"""Files of named arrays, as ``numpy.savez`` writes them."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from terrafl.data.files import BROKEN_ARCHIVE, Progress, Published
from terrafl.errors import DataError

Arrays = Mapping[str, NDArray[np.generic]]
"""Arrays by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArraysFile(Published[Arrays]):
    """A published ``.npz`` file, identified by its arrays, not by the bytes of the zip file.

    Parameters
    ----------
    limit
        Most bytes that the arrays and their headers may take.
    sha256
        SHA-256 of the arrays; see :func:`digest_of`.
    """

    limit: int
    sha256: str

    def read(self, path: Path, progress: Progress | None = None) -> Arrays:
        """Return the arrays, after verifying them."""
        arrays = read_npz(path, self.limit)
        digest = digest_of(arrays)
        if digest != self.sha256:
            raise DataError(f"the sha256 of {path}'s arrays must be {self.sha256}; got {digest}.")
        return arrays


def read_npz(path: Path, limit: int | None = None) -> Arrays:
    """Return the arrays of a file by name; no object is unpickled.

    Parameters
    ----------
    path
        The file.
    limit
        Most bytes that its members may take; ``None`` for any number.
    """
    try:
        with zipfile.ZipFile(path) as file:
            total = sum(member.file_size for member in file.infolist())
            if limit is not None and total > limit:
                raise ValueError(f"{total} bytes, and at most {limit} are expected")
            return {
                name.removesuffix(".npy"): npy.read_array(
                    io.BytesIO(file.read(name)), allow_pickle=False
                )
                for name in file.namelist()
            }
    except BROKEN_ARCHIVE as error:
        raise DataError(f"{path} must be a file that numpy.savez wrote; got: {error}.") from error


def digest_of(arrays: Arrays) -> str:
    """Return the SHA-256 of arrays in the order of their names, in hexadecimal.

    It covers, for each array, a line ``name dtype shape`` and the bytes of its values.
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
