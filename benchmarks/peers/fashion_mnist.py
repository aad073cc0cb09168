"""Fashion-MNIST's training images, found where terrafl finds them and dealt out to clients."""

import gzip
import os
import sys
from functools import lru_cache
from pathlib import Path

FILES = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
NUM_CLIENTS = 100
CLIENT_SIZE = 600


def folders():
    given = os.environ.get("TERRAFL_DATA")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    found = [Path(given) / name for name in ("", "fashion-mnist", "fmnist")] if given else []
    return [*found, cache / "terrafl/fashion-mnist", Path("/usr/share/datasets/fashion-mnist")]


def locate():
    """Return the two files, or end with a sentence that says what to do."""
    for folder in folders():
        if all((folder / name).is_file() for name in FILES):
            return [folder / name for name in FILES]
    sys.exit(
        f"Fashion-MNIST is needed: {' and '.join(FILES)}, looked for in "
        f"{', '.join(map(str, folders()))}. Run `terrafl data fetch fmnist`, or set TERRAFL_DATA."
    )


def read_idx(path):
    """Read an IDX file of unsigned bytes: 00 00 08, dimensions, their sizes, the values."""
    import numpy as np

    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\x00\x00\x08":
        sys.exit(f"{path} must be an IDX file of unsigned bytes; got {content[:3].hex(' ')}.")
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], ">u4").astype(int)
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


@lru_cache(maxsize=1)
def federation():
    """Return the pixels and labels of every client, as bytes: 100 x 600, independent and alike."""
    import numpy as np

    images, labels = map(read_idx, locate())
    parts = np.random.default_rng(0).permutation(len(labels)).reshape(NUM_CLIENTS, CLIENT_SIZE)
    return images[parts], labels[parts]


def scaled(pixels):
    """Return pixels from -1 to 1."""
    return pixels.astype("float32") * (2 / 255) - 1


def client(number):
    """Return one client's images and labels, ready for training."""
    images, labels = federation()
    return scaled(images[number]), labels[number].astype("int64")
