"""CIFAR-10 and CIFAR-100: 32 x 32 colour images, in the official binary files.

References
----------
Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
"""

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from terrafl.data.archives import Archive
from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import Bytes, DataFile
from terrafl.errors import DataError

_URL = "https://www.cs.toronto.edu/~kriz/"
_IMAGE = (3, 32, 32)
_SHA256 = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    "train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
    "test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
}
# Mean and sd of the training pixels; those of CIFAR-10 as HiCS-FL's code rounds them.
_NORMALISATION10 = Normalisation(255.0, (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261))
_NORMALISATION100 = Normalisation(255.0, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762))


def decode_records(
    content: Bytes, name: str, *, label_bytes: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return images (n, 3, 32, 32), a view of the content, and the last label byte of each.

    A record is the label bytes, then the red, green and blue plane of one image.

    Parameters
    ----------
    content
        The file.
    name
        The file's name, for error messages.
    label_bytes
        Bytes before each image: CIFAR-10 has one, CIFAR-100 the coarse and the fine label.

    Examples
    --------
    >>> x, y = decode_records(bytes([19, 99]) + bytes(3072), "one.bin", label_bytes=2)
    >>> x.shape, y
    ((1, 3, 32, 32), array([99]))
    """
    length = label_bytes + math.prod(_IMAGE)
    if len(content) == 0 or len(content) % length:
        raise DataError(
            f"{name} must be records of {length} bytes; got {len(content)} bytes. "
            "Fetch the file again."
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, length)
    x = records[:, label_bytes:].reshape(-1, *_IMAGE)
    return x, records[:, label_bytes - 1].astype(np.int64)


def _decode(
    label_bytes: int,
    normalisation: Normalisation,
    contents: Mapping[str, Bytes],
    generator: np.random.Generator,
) -> Decoded:
    """Read the official division, the test file last; nothing is drawn."""
    *parts, test = (decode_records(c, n, label_bytes=label_bytes) for n, c in contents.items())
    train = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    return Examples(*train), Examples(*test), normalisation


def _file(name: str, size: int) -> DataFile:
    return DataFile(name=name, size=size, sha256=_SHA256[name])


CIFAR10 = Entry(
    name="cifar10",
    title="CIFAR-10, 32 x 32 colour images of ten kinds of things",
    num_train=50000,
    num_test=10000,
    num_classes=10,
    files=tuple(_file(name, 30730000) for name in _SHA256 if "batch" in name),
    decode=partial(_decode, 1, _NORMALISATION10),
    subfolders=("cifar-10-batches-bin", "cifar10"),
    base_url=_URL,
    archive=Archive(
        name="cifar-10-binary.tar.gz",
        size=170052171,
        sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        inside="cifar-10-batches-bin",
        unpacked_limit=190_000_000,
    ),
)

CIFAR100 = Entry(
    name="cifar100",
    title="CIFAR-100, 32 x 32 colour images of a hundred kinds of things",
    num_train=50000,
    num_test=10000,
    num_classes=100,
    files=(_file("train.bin", 153700000), _file("test.bin", 30740000)),
    decode=partial(_decode, 2, _NORMALISATION100),
    subfolders=("cifar-100-binary", "cifar100"),
    base_url=_URL,
    archive=Archive(
        name="cifar-100-binary.tar.gz",
        size=168513733,
        sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
        inside="cifar-100-binary",
        unpacked_limit=190_000_000,
    ),
)
