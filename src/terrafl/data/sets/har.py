"""UCI HAR: what 30 people did, from the accelerometer and gyroscope of a phone on their waist.

Windows of 2.56 s at 50 Hz, nine channels: body acceleration, angular velocity and total
acceleration, each in x, y and z; walking, walking upstairs, downstairs, sitting, standing, lying.

References
----------
Anguita et al., "A Public Domain Dataset for Human Activity Recognition Using Smartphones",
ESANN 2013. CC BY 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.entry import Entry
from terrafl.data.files import search_folders
from terrafl.data.holdout import hold_out_runs
from terrafl.data.npz import Arrays, ArraysFile, ArraySpec

__all__ = ["HAR"]

_NUM_EXAMPLES = 10299
_FILE = ArraysFile(
    name="har.npz",
    arrays=(
        ArraySpec("x", "<f4", (_NUM_EXAMPLES, 9, 128)),
        ArraySpec("y", "|u1", (_NUM_EXAMPLES,)),
        ArraySpec("subject", "|u1", (_NUM_EXAMPLES,)),
        ArraySpec("chain", "<i2", (_NUM_EXAMPLES,)),
    ),
    sha256="02e0985549fb0fb38df4c426dd86df6b74af26cb6ca37ea2cd573ef41b87aa68",
)


def _folders(root: Path | None) -> tuple[Path, ...]:
    return search_folders(root, ("uci-har", "har"))


def _decode(contents: Mapping[str, Arrays], generator: np.random.Generator) -> Dataset:
    """Divide each subject's windows about 80 to 20, by unbroken runs of them.

    Neighbouring windows overlap by half: dealt out one by one, most test windows would have
    been seen in training.
    """
    arrays = contents[_FILE.name]
    x, y = arrays["x"].astype(np.float32, copy=False), arrays["y"].astype(np.int64)
    subject = np.strings.zfill(arrays["subject"].astype("<U2"), 2)
    held = hold_out_runs(subject, arrays["chain"], 0.2, generator)
    train, test = (Examples(x[rows], y[rows], subject[rows]) for rows in (~held, held))
    return Dataset(
        name="har",
        train=train,
        test=test,
        num_classes=6,
        normalisation=_standardisation(x[~held]),
    )


def _standardisation(x: NDArray[np.float32]) -> Normalisation:
    """Return what makes every channel of these windows have mean 0 and sd 1."""
    mean = x.mean(axis=(0, 2), dtype=np.float64)
    sd = x.std(axis=(0, 2), dtype=np.float64)
    return Normalisation(1.0, tuple(mean.tolist()), tuple(sd.tolist()))


HAR = Entry(
    name="har",
    title="UCI HAR, phone sensors on 30 people doing six things",
    # About: which runs are tested on, and so how many windows, is drawn.
    num_train=_NUM_EXAMPLES * 8 // 10,
    num_test=_NUM_EXAMPLES - _NUM_EXAMPLES * 8 // 10,
    num_classes=6,
    files=(_FILE,),
    folders=_folders,
    remedy=(
        "No official source has these arrays: put the file uci-har/har.npz in the folder "
        "that $TERRAFL_DATA names."
    ),
    decode=_decode,
    folder="uci-har",
)
