"""CIFAR-100: 32 x 32 colour images of a hundred kinds of things, in the official binary files.

References
----------
Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from terrafl.data.archive import Archive
from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.entry import Entry
from terrafl.data.files import Bytes, DataFile, search_folders
from terrafl.data.records import decode_records

__all__ = ["CIFAR100"]

_FOLDER = "cifar-100-binary"
_TRAIN = DataFile(
    name="train.bin",
    size=153700000,
    sha256="f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
)
_TEST = DataFile(
    name="test.bin",
    size=30740000,
    sha256="d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
)


def _folders(root: Path | None) -> tuple[Path, ...]:
    return search_folders(root, (_FOLDER, "cifar100"))


def _decode(contents: Mapping[str, Bytes], generator: np.random.Generator) -> Dataset:
    """Read the official division and the fine labels; nothing is drawn."""
    train, test = (
        Examples(*decode_records(contents[file.name], file.name, label_bytes=2))
        for file in (_TRAIN, _TEST)
    )
    return Dataset(
        name="cifar100",
        train=train,
        test=test,
        num_classes=100,
        # Mean and sd of the training pixels.
        normalisation=Normalisation(255.0, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    )


CIFAR100 = Entry(
    name="cifar100",
    title="CIFAR-100, 32 x 32 colour images of a hundred kinds of things",
    num_train=50000,
    num_test=10000,
    num_classes=100,
    files=(_TRAIN, _TEST),
    folders=_folders,
    decode=_decode,
    base_url="https://www.cs.toronto.edu/~kriz/",
    folder=_FOLDER,
    archive=Archive(
        name="cifar-100-binary.tar.gz",
        size=168513733,
        sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
)
