"""CIFAR-10: 32 x 32 colour images of ten kinds of things, in the official binary files.

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

__all__ = ["CIFAR10"]

_FOLDER = "cifar-10-batches-bin"
_TEST = "test_batch.bin"
_SHA256 = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    _TEST: "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}


def _folders(root: Path | None) -> tuple[Path, ...]:
    return search_folders(root, (_FOLDER, "cifar10"))


def _decode(contents: Mapping[str, Bytes], generator: np.random.Generator) -> Dataset:
    """Read the official division; nothing is drawn."""
    parts = {name: decode_records(c, name, label_bytes=1) for name, c in contents.items()}
    test = parts.pop(_TEST)
    images, labels = zip(*parts.values(), strict=True)
    return Dataset(
        name="cifar10",
        train=Examples(np.concatenate(images), np.concatenate(labels)),
        test=Examples(*test),
        num_classes=10,
        # Mean and sd of the training pixels, as HiCS-FL's code rounds them.
        normalisation=Normalisation(255.0, (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)),
    )


CIFAR10 = Entry(
    name="cifar10",
    title="CIFAR-10, 32 x 32 colour images of ten kinds of things",
    num_train=50000,
    num_test=10000,
    num_classes=10,
    files=tuple(
        DataFile(name=name, size=30730000, sha256=digest) for name, digest in _SHA256.items()
    ),
    folders=_folders,
    decode=_decode,
    base_url="https://www.cs.toronto.edu/~kriz/",
    folder=_FOLDER,
    archive=Archive(
        name="cifar-10-binary.tar.gz",
        size=170052171,
        sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
)
