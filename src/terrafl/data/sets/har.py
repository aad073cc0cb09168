"""UCI HAR: activities of 30 people, from the accelerometer and gyroscope of a phone on the waist.

Windows of 2.56 s at 50 Hz, nine channels: body acceleration, angular velocity and total
acceleration, each in x, y and z; walking, walking upstairs, downstairs, sitting, standing, lying.

Two files can be read: ``har.npz``, the arrays that this project's results were made with, and the
official archive, which is read once, see :mod:`terrafl.data.cache`. Their windows are equal to
within 1e-7, but in a different order.

References
----------
Anguita et al., "A Public Domain Dataset for Human Activity Recognition Using Smartphones",
ESANN 2013. CC BY 4.0.
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.cache import cache_place, cached_arrays
from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import BROKEN_ARCHIVE, DataFile, Progress, Published
from terrafl.data.holdout import hold_out_runs
from terrafl.data.npz import Arrays, ArraysFile
from terrafl.errors import DataError

_FOLDER = "UCI HAR Dataset"
_PARTS = ("train", "test")
_SIGNALS = [f"{kind}_{axis}" for kind in ("body_acc", "body_gyro", "total_acc") for axis in "xyz"]
_LENGTH = 128
_MOST_PACKED, _MOST_TEXT = 1 << 26, 1 << 24  # bytes; the largest are 61.0 and 15.1 million
_NUM_EXAMPLES = 10299
_ARCHIVE = DataFile(
    name="human+activity+recognition+using+smartphones.zip",
    size=61005872,
    sha256="c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031",
)
_ARRAYS = ArraysFile(
    name="har.npz",
    limit=50_000_000,
    sha256="02e0985549fb0fb38df4c426dd86df6b74af26cb6ca37ea2cd573ef41b87aa68",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsFile(Published[Arrays]):
    """The windows in either file; the arrays are preferred if both are there.

    Parameters
    ----------
    arrays, archive
        The two files.
    """

    arrays: ArraysFile
    archive: DataFile

    def find(self, folder: Path) -> Path | None:
        """Return the path of either file in this folder, valid or not."""
        return self.arrays.find(folder) or self.archive.find(folder)

    def verify(self, path: Path) -> str:
        """Raise unless the file at this path has the published content."""
        return (self.arrays if path.name == self.arrays.name else self.archive).verify(path)

    def read(self, path: Path, progress: Progress | None = None) -> Arrays:
        """Return the arrays; made from the archive the first time, and mapped later."""
        if path.name == self.arrays.name:
            return self.arrays.read(path, progress)
        self.archive.verify(path)
        place = cache_place(path, f"har-{self.archive.sha256[:16]}")
        return cached_arrays(place, lambda _: read_windows(path))


def _decode(contents: Mapping[str, Arrays], generator: np.random.Generator) -> Decoded:
    """Divide each subject's windows about 80 to 20, by unbroken runs of windows.

    Neighbouring windows overlap by half: if they were divided one by one, half of most test
    windows would be in the training set.
    """
    (arrays,) = contents.values()
    x, y = arrays["x"].astype(np.float32, copy=False), arrays["y"].astype(np.int64)
    subject = np.strings.zfill(arrays["subject"].astype("<U2"), 2)
    held = hold_out_runs(subject, arrays["chain"], 0.2, generator)
    train, test = Examples(x, y, subject).divide(held)
    mean = train.x.mean(axis=(0, 2), dtype=np.float64)
    sd = train.x.std(axis=(0, 2), dtype=np.float64)
    return train, test, Normalisation(1.0, tuple(mean.tolist()), tuple(sd.tolist()))


def read_windows(path: Path) -> Arrays:
    """Return windows ``x``, labels ``y``, ``subject`` and ``chain``, training subjects first.

    Labels and subjects are numbered from 0; for ``chain`` see :func:`chains`.

    Parameters
    ----------
    path
        The published archive.
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
    """Return the numbers of a text file, training part first, one row per window."""
    members = (f"{_FOLDER}/{part}/{name}_{part}.txt" for part in _PARTS)
    words = b"\n".join(_member(archive, member, _MOST_TEXT) for member in members).split()
    return np.array(words, dtype=np.float32).reshape(-1, width)


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    with archive.open(name) as packed:
        content = packed.read(limit + 1)  # unpacks no more
    if len(content) > limit:
        raise ValueError(f"{name} of more than {limit} bytes")
    return content


def chains(x: NDArray[np.float32], subject: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Return the number of the unbroken run that each window belongs to.

    A window of a run begins with the second half of the window before it. Runs are numbered in the
    order of their first windows; windows that follow each other in a circle get -1.

    Parameters
    ----------
    x
        Windows of shape (n, channels, samples), in any order.
    subject
        The subject of each window.
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


HAR = Entry(
    name="har",
    title="UCI HAR, phone sensors on 30 people doing six things",
    # Approximate: the test runs, and so their number of windows, are drawn.
    num_train=_NUM_EXAMPLES * 8 // 10,
    num_test=_NUM_EXAMPLES - _NUM_EXAMPLES * 8 // 10,
    num_classes=6,
    files=(WindowsFile(name=_ARCHIVE.name, arrays=_ARRAYS, archive=_ARCHIVE),),
    decode=_decode,
    subfolders=("uci-har", "har"),
    base_url="https://archive.ics.uci.edu/static/public/240/",
    original=_ARCHIVE,
)
