"""Fashion-MNIST: 28 x 28 grey images of ten kinds of clothing.

References
----------
Xiao, Rasul and Vollgraf, "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine
Learning Algorithms", 2017. MIT licence.
"""

import math
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import Bytes, GzipFile
from terrafl.errors import DataError

_UNSIGNED_BYTES = b"\x00\x00\x08"
_MAX_DIMENSIONS = 3


def _decode(contents: Mapping[str, Bytes], generator: np.random.Generator) -> Decoded:
    """Read the official division; nothing is drawn."""
    images, labels, test_images, test_labels = (
        decode_idx(content, name) for name, content in contents.items()
    )
    return (
        Examples(images[:, np.newaxis], labels.astype(np.int64)),
        Examples(test_images[:, np.newaxis], test_labels.astype(np.int64)),
        Normalisation(255.0, (0.5,), (0.5,)),
    )


def decode_idx(content: Bytes, name: str) -> NDArray[np.uint8]:
    """Return the array in an IDX file of unsigned bytes.

    A file has two zero bytes, a byte for the type (8: unsigned bytes), a byte for the number of
    dimensions, the dimensions as big-endian 32-bit numbers, then the values, last dimension
    fastest. The header is compared with the length before anything is allocated.

    Parameters
    ----------
    content
        The file, uncompressed.
    name
        The file's name, for error messages.

    Examples
    --------
    >>> decode_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]), "three.idx")
    array([[7, 8, 9]], dtype=uint8)
    """
    if content[:3] != _UNSIGNED_BYTES:
        raise _fault(name, "start with bytes 00 00 08 (IDX, unsigned)", content[:3].hex(" "))
    dimensions = content[3] if len(content) > 3 else 0
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise _fault(name, f"have 1 to {_MAX_DIMENSIONS} dimensions", str(dimensions))
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise _fault(name, f"have a header of {start} bytes", f"{len(content)} bytes")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    declared = math.prod(shape)  # Python integers do not overflow
    if declared == 0 or len(content) - start != declared:
        sizes = " x ".join(map(str, shape))
        raise _fault(name, f"hold the {sizes} values it declares", f"{len(content) - start}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy()


def _fault(name: str, must: str, got: str) -> DataError:
    return DataError(f"{name} must {must}; got {got or 'nothing'}. Fetch the file again.")


FMNIST = Entry(
    name="fmnist",
    title="Fashion-MNIST, 28 x 28 grey images of clothing",
    num_train=60000,
    num_test=10000,
    num_classes=10,
    files=(
        GzipFile(
            name="train-images-idx3-ubyte.gz",
            size=47040016,
            sha256="c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            md5="8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        ),
        GzipFile(
            name="train-labels-idx1-ubyte.gz",
            size=60008,
            sha256="bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            md5="25c81989df183df01b3e8a0aad5dffbe",
        ),
        GzipFile(
            name="t10k-images-idx3-ubyte.gz",
            size=7840016,
            sha256="5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            md5="bef4ecab320f06d8554ea6380940ec79",
        ),
        GzipFile(
            name="t10k-labels-idx1-ubyte.gz",
            size=10008,
            sha256="0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            md5="bb300cfdad3c16e7a12a480ee83cd310",
        ),
    ),
    decode=_decode,
    subfolders=("fashion-mnist", "fmnist"),
    system=(Path("/usr/share/datasets/fashion-mnist"),),  # Debian's
    alternative="on Debian `apt install dataset-fashion-mnist`",
    base_url="https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
)
