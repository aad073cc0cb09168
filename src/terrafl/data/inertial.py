"""UCI HAR's official archive: texts in a zip archive in a zip archive, read into arrays."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.files import BROKEN_ARCHIVE
from terrafl.data.npz import Arrays
from terrafl.errors import DataError

__all__ = ["chains", "read_windows"]

_FOLDER = "UCI HAR Dataset"
_PARTS = ("train", "test")
_SIGNALS = [f"{kind}_{axis}" for kind in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"]
_LENGTH = 128
_MOST_PACKED, _MOST_TEXT = 1 << 26, 1 << 24  # bytes; the largest are 61.0 and 15.1 million


def read_windows(path: Path) -> Arrays:
    """Return windows ``x``, labels ``y``, ``subject`` and ``chain``, training subjects first.

    Labels and subjects are numbered from 0; for ``chain`` see :func:`chains`.

    Parameters
    ----------
    path
        The archive as it is published.
    """
    try:
        with (
            zipfile.ZipFile(path) as outer,
            zipfile.ZipFile(io.BytesIO(_member(outer, f"{_FOLDER}.zip", _MOST_PACKED))) as inner,
        ):
            return _arrays(inner)
    except BROKEN_ARCHIVE as error:
        raise DataError(f"{path} must be UCI HAR's archive; got: {error}.") from error


def _arrays(archive: zipfile.ZipFile) -> Arrays:
    signals = [_numbers(archive, f"Inertial Signals/{name}", _LENGTH) for name in _SIGNALS]
    x = np.stack(signals, axis=1)
    y, subject = (_from_zero(archive, name) for name in ("y", "subject"))
    if not len(x) == len(y) == len(subject):
        raise ValueError(f"{len(x)} windows, {len(y)} labels and {len(subject)} subjects")
    return {"x": x, "y": y, "subject": subject, "chain": chains(x, subject)}


def _from_zero(archive: zipfile.ZipFile, name: str) -> NDArray[np.uint8]:
    numbers = _numbers(archive, name, 1)[:, 0]
    if not np.isin(numbers, np.arange(1, 256)).all():
        raise ValueError(f"{name} that is not counted from 1")
    return numbers.astype(np.uint8) - np.uint8(1)


def _numbers(archive: zipfile.ZipFile, name: str, width: int) -> NDArray[np.float32]:
    """Return what a text of each part has, one row per window."""
    members = (f"{_FOLDER}/{part}/{name}_{part}.txt" for part in _PARTS)
    words = b"\n".join(_member(archive, member, _MOST_TEXT) for member in members).split()
    return np.array(words, dtype=np.float32).reshape(-1, width)


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    with archive.open(name) as packed:
        content = packed.read(limit + 1)  # no more is unpacked than is asked for
    if len(content) > limit:
        raise ValueError(f"{name} of more than {limit} bytes")
    return content


def chains(x: NDArray[np.float32], subject: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Return the number of the unbroken run that each window belongs to.

    The next window of a run begins with the second half of the one before. Runs are numbered in
    the order of their first windows; windows that follow each other in a ring have -1.

    Parameters
    ----------
    x
        Windows of shape (n, channels, samples), in any order.
    subject
        Whose each is.
    """
    half, owned = x.shape[2] // 2, list(zip(subject.tolist(), x, strict=True))
    begins = {(who, w[:, :half].tobytes()): row for row, (who, w) in enumerate(owned)}
    after = [begins.get((who, w[:, half:].tobytes())) for who, w in owned]
    chain = np.full(len(x), -1, dtype=np.int16)
    for number, first in enumerate(sorted(set(range(len(x))).difference(after))):
        row: int | None = first
        while row is not None and chain[row] < 0:
            chain[row] = number
            row = after[row]
    return chain
