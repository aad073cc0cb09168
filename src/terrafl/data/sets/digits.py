"""Digits: 8 x 8 grey images of handwritten digits, shipped with the package.

The file has the content of scikit-learn's copy; see ``digits.LICENSE.txt`` beside it.

References
----------
Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
Repository, 1998 (its test set). CC BY 4.0.
"""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import Bytes, GzipFile
from terrafl.data.partition.shares import apportion
from terrafl.errors import DataError

_FILE = GzipFile(
    name="digits.csv.gz",
    size=264712,
    sha256="6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8",
)
_NUM_TRAIN, _NUM_TEST = 1437, 360


def _decode(contents: Mapping[str, Bytes], generator: np.random.Generator) -> Decoded:
    """Divide every class 80 to 20; both parts keep the order of the file."""
    try:
        table = np.loadtxt(io.BytesIO(contents[_FILE.name]), delimiter=",", dtype=np.uint8)
    except ValueError as error:
        raise DataError(f"{_FILE.name} must be a table of numbers; got: {error}.") from error
    if table.shape != (_NUM_TRAIN + _NUM_TEST, 65):
        raise DataError(f"{_FILE.name} must be a table of 1797 x 65; got {table.shape}.")
    x, y = table[:, :64].reshape(-1, 1, 8, 8), table[:, 64].astype(np.int64)
    in_test = np.zeros(len(y), dtype=np.bool_)
    for label, number in enumerate(apportion(_NUM_TEST, np.bincount(y))):
        rows = np.flatnonzero(y == label)
        in_test[generator.choice(rows, size=number, replace=False)] = True
    return *Examples(x, y).divide(in_test), Normalisation(16.0)


DIGITS = Entry(
    name="digits",
    title="Handwritten digits, 8 x 8 grey images, shipped with terrafl",
    num_train=_NUM_TRAIN,
    num_test=_NUM_TEST,
    num_classes=10,
    files=(_FILE,),
    decode=_decode,
    system=(Path(__file__).parent,),
    alternative="install terrafl again: `pip install --force-reinstall terrafl`",
)
