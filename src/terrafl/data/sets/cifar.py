"""CIFAR-10 and CIFAR-100: 32 x 32 colour images, in the official binary files.

References
----------
Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from terrafl.data.archives import Archive
from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import Bytes, DataFile
from terrafl.errors import DataError

__all__ = ["CIFAR10", "CIFAR100", "decode_records"]

_IMAGE = (3, 32, 32)


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


def _entry(
    num_classes: int,
    kinds: str,
    files: Mapping[str, str],
    normalisation: Normalisation,
    *,
    label_bytes: int,
    folder: str,
    archive_size: int,
    archive_sha256: str,
) -> Entry[Bytes]:
    """Return the entry of one of the two; ``files`` has a SHA-256 by name, the test file last."""

    def decode(contents: Mapping[str, Bytes], generator: np.random.Generator) -> Decoded:
        """Read the official division; nothing is drawn."""
        *parts, test = (
            decode_records(content, name, label_bytes=label_bytes)
            for name, content in contents.items()
        )
        images, labels = (
            parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
        )
        return Examples(images, labels), Examples(*test), normalisation

    record = label_bytes + math.prod(_IMAGE)
    sizes = {name: record * (50000 if name == "train.bin" else 10000) for name in files}
    return Entry(
        name=f"cifar{num_classes}",
        title=f"CIFAR-{num_classes}, 32 x 32 colour images of {kinds} kinds of things",
        num_train=50000,
        num_test=10000,
        num_classes=num_classes,
        files=tuple(DataFile(name=n, size=sizes[n], sha256=files[n]) for n in files),
        decode=decode,
        subfolders=(folder, f"cifar{num_classes}"),
        base_url="https://www.cs.toronto.edu/~kriz/",
        archive=Archive(
            name=f"cifar-{num_classes}-binary.tar.gz",
            size=archive_size,
            sha256=archive_sha256,
            inside=folder,
            unpacked_limit=190_000_000,
        ),
    )


CIFAR10 = _entry(
    10,
    "ten",
    {
        "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    },
    # Mean and sd of the training pixels, as HiCS-FL's code rounds them.
    Normalisation(255.0, (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)),
    label_bytes=1,
    folder="cifar-10-batches-bin",
    archive_size=170052171,
    archive_sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
CIFAR100 = _entry(
    100,
    "a hundred",
    {
        "train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29",
        "test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a",
    },
    # Mean and sd of the training pixels.
    Normalisation(255.0, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    label_bytes=2,  # the coarse and the fine one
    folder="cifar-100-binary",
    archive_size=168513733,
    archive_sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
)
