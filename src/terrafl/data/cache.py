"""Arrays made once from files that are slow to read, then mapped into memory.

A cache folder holds ``.npy`` files and a list of their checksums. It is complete or absent: it is
made under another name and then renamed. One process makes it while others wait.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from terrafl.data.dataset import Examples
from terrafl.data.npz import Arrays
from terrafl.errors import DataError
from terrafl.folders import sha256_of, user_cache

_CHECKSUMS = "sha256.json"
_NAME = re.compile(r"[a-z_]+\.npy")


class ArrayWriter:
    """Write an array that is too large for memory, some rows at a time.

    Parameters
    ----------
    path
        The ``.npy`` file to make.
    dtype, row_shape
        The type of the values, and the shape of one row.
    """

    def __init__(self, path: Path, dtype: str, row_shape: tuple[int, ...]) -> None:
        self._dtype = dtype
        self._shape = (0, *row_shape)
        self._stream = path.open("xb")
        self._write_header()

    def append(self, rows: NDArray[np.generic]) -> None:
        """Add the next rows."""
        assert (rows.dtype, rows.shape[1:]) == (np.dtype(self._dtype), self._shape[1:])
        self._shape = (self._shape[0] + len(rows), *self._shape[1:])
        self._stream.write(np.ascontiguousarray(rows).data)

    def __enter__(self) -> "ArrayWriter":
        return self

    def __exit__(self, *_: object) -> None:
        with self._stream:
            self._stream.seek(0)
            self._write_header()
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def _write_header(self) -> None:
        # numpy pads a header so that it keeps its length when the number of rows grows.
        header = {"descr": self._dtype, "fortran_order": False, "shape": self._shape}
        npy.write_array_header_1_0(self._stream, header)


def cache_place(source: Path, key: str) -> Path:
    """Return the cache folder for arrays made from a file or folder.

    It is in ``.cache`` beside the source or, if that is not writable, in the user's cache.

    Parameters
    ----------
    source
        The file or folder.
    key
        A name that identifies the arrays' content.
    """
    beside = source.parent / ".cache" / key
    usable = beside.is_dir() or os.access(source.parent, os.W_OK)
    return beside if usable else user_cache() / ".cache" / key


def cached_arrays(place: Path, make: Callable[[Path], Arrays]) -> Arrays:
    """Return the arrays in a cache folder by name, mapped; make them if missing or damaged.

    Parameters
    ----------
    place
        The cache folder.
    make
        Write large arrays as ``.npy`` files into a folder and return the others by name; if it
        raises, nothing is kept.
    """
    try:
        arrays = _mapped(place)
        if arrays is None:
            place.parent.mkdir(parents=True, exist_ok=True)
            # One process makes the folder while others wait; a dead process's lock is released.
            with place.with_name(place.name + ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                arrays = _mapped(place) or _made(place, make)
    except OSError as error:
        raise DataError(
            f"{place} must be writable and have room; got: {error}. Set XDG_CACHE_HOME or "
            "TERRAFL_DATA to another folder."
        ) from error
    return arrays


def cached_examples(arrays: Arrays, prefix: str) -> Examples:
    """Return the examples in the arrays x, y and, if there is one, writer with this prefix."""
    group = arrays.get(f"{prefix}writer")
    return Examples(
        arrays[f"{prefix}x"].astype(np.uint8, copy=False),
        arrays[f"{prefix}y"].astype(np.int64, copy=False),
        None if group is None else group.astype(np.str_, copy=False),
    )


def _made(place: Path, make: Callable[[Path], Arrays]) -> Arrays:
    part = place.with_name(place.name + ".part")
    for stale in (place, part):
        shutil.rmtree(stale, ignore_errors=True)
    part.mkdir()
    try:
        for name, array in make(part).items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
        checksums = {path.name: sha256_of(path) for path in sorted(part.glob("*.npy"))}
        (part / _CHECKSUMS).write_text(json.dumps(checksums))
        os.rename(part, place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    arrays = _mapped(place)
    if arrays is None:
        raise DataError(f"{place} must not change while it is made; got other files. Try again.")
    return arrays


def _mapped(place: Path) -> Arrays | None:
    """Return the arrays; ``None`` if they are missing or damaged."""
    try:
        checksums = json.loads((place / _CHECKSUMS).read_text())
        if not all(_NAME.fullmatch(n) and sha256_of(place / n) == s for n, s in checksums.items()):
            return None
        # Copy on write: what a reader writes does not reach the files.
        return {
            name.removesuffix(".npy"): np.asarray(
                np.load(place / name, mmap_mode="c", allow_pickle=False)
            )
            for name in checksums
        }
    except (FileNotFoundError, NotADirectoryError, ValueError, AttributeError):
        return None
