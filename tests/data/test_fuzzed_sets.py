"""Every data set from small files in its official layout, damaged and forged in every way."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet

from terrafl.data.files import DataFile, GzipFile
from terrafl.data.npz import ArraysFile, digest_of
from terrafl.data.sets import (
    CIFAR10,
    CIFAR100,
    DIGITS,
    FEMNIST,
    FMNIST,
    HAR,
    TINY_IMAGENET,
    UNIPEN62,
)
from terrafl.data.sets.tiny_imagenet import ImageTree
from terrafl.errors import DataError

RANDOM = np.random.default_rng(0)
WNIDS = ["n01443537", "n02124075"]


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return head + array.astype(np.uint8).tobytes()


def picture(shape, kind):
    stream = io.BytesIO()
    Image.fromarray(RANDOM.integers(0, 256, shape, dtype=np.uint8)).save(stream, kind)
    return stream.getvalue()


def npz(arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def leaf(users):
    return json.dumps(
        {
            "users": list(users),
            "num_samples": list(users.values()),
            "user_data": {
                name: {"x": [[0.5] * 783 + [1]] * n, "y": list(range(n))}
                for name, n in users.items()
            },
        }
    ).encode()


def table(rows):
    stream = io.BytesIO()
    images = [{"bytes": picture((28, 28), "PNG"), "path": None} for _ in range(rows)]
    columns = {"image": images, "writer_id": ["f1"] * rows, "character": list(range(rows))}
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


ARRAYS = {
    "har": {
        "x": RANDOM.normal(size=(6, 9, 128)).astype(np.float32),
        "y": np.arange(6, dtype=np.uint8),
        "subject": np.array([1, 1, 1, 2, 2, 2], dtype=np.uint8),
        "chain": np.arange(6, dtype=np.int16),
    },
    "unipen62": {
        "images": RANDOM.integers(0, 256, (6, 28, 28), dtype=np.uint8),
        "labels": np.arange(6, dtype=np.uint8),
        "writer": np.array([0, 0, 0, 1, 1, 1], dtype=np.int32),
        "writer_names": np.array(["a", "b"]),
    },
}
DIGIT_ROWS = np.column_stack([RANDOM.integers(0, 17, (1797, 64)), np.arange(1797) % 10])
# By data set: its content by official name, unpacked where the name ends in .gz.
FILES = {
    "fmnist": {
        f"{part}-{what}-idx{dim}-ubyte.gz": idx(array)
        for part in ("train", "t10k")
        for what, dim, array in (
            ("images", 3, RANDOM.integers(0, 256, (3, 28, 28))),
            ("labels", 1, np.arange(3)),
        )
    },
    "cifar10": {
        f"{name}.bin": bytes([7]) + bytes(3072)
        for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
    },
    "cifar100": {f"{name}.bin": bytes([7, 8]) + bytes(3072) for name in ("train", "test")},
    "digits": {"digits.csv.gz": "\n".join(",".join(map(str, row)) for row in DIGIT_ROWS).encode()},
    "har": {"har.npz": npz(ARRAYS["har"])},
    "unipen62": {"unipen62.npz": npz(ARRAYS["unipen62"])},
    "tiny-imagenet": {
        "wnids.txt": "\n".join(WNIDS).encode(),
        "words.txt": b"n00001740\tentity\n",
        "val/val_annotations.txt": f"val_0.JPEG\t{WNIDS[1]}\t0\t0\t63\t63\n".encode(),
        **{f"train/{w}/{w}_boxes.txt": b"boxes" for w in WNIDS},
        **{f"train/{w}/images/{w}_0.JPEG": picture((64, 64, 3), "JPEG") for w in WNIDS},
        "val/images/val_0.JPEG": picture((64, 64, 3), "JPEG"),
    },
    "leaf": {
        "train/all_data_0.json": leaf({"f1": 2, "f2": 1}),
        "test/all_data_0.json": leaf({"f1": 1}),
    },
    "parquet": {"part-0.parquet": table(4)},
}
FOLDERS = {"tiny-imagenet": "tiny-imagenet-200", "leaf": "femnist", "parquet": "femnist"}
ENTRIES = {
    "fmnist": FMNIST,
    "cifar10": CIFAR10,
    "cifar100": CIFAR100,
    "digits": replace(DIGITS, subfolders=("digits",)),
}
CHECKED = [name for name in FILES if name not in ("leaf", "parquet")]
FORGEABLE = ["fmnist", "cifar10", "cifar100", "digits", "tiny-imagenet", "leaf", "parquet"]


def published(name, contents):
    """Return the entry whose published files have these contents."""
    if name in ENTRIES:
        files = tuple(
            (GzipFile if file.endswith(".gz") else DataFile)(
                name=file, size=len(c), sha256=hashlib.sha256(c).hexdigest()
            )
            for file, c in contents.items()
        )
        return replace(ENTRIES[name], files=files)
    if name in ARRAYS:
        arrays, (file,) = ARRAYS[name], contents
        whole = ArraysFile(name=file, limit=2 * len(contents[file]), sha256=digest_of(arrays))
        if name == "har":
            return replace(HAR, files=(replace(HAR.files[0], arrays=whole),))
        return replace(UNIPEN62, files=(whole,))
    if name == "tiny-imagenet":
        digest = hashlib.sha256(b"".join(contents.values())).hexdigest()
        tree = ImageTree(
            name=FOLDERS[name],
            num_classes=2,
            num_per_class=1,
            num_val=1,
            sha256=digest,
        )
        return replace(TINY_IMAGENET, files=(tree,))
    return FEMNIST


def stored(name, contents):
    """Return the files as they lie on disk."""
    return {
        file: gzip.compress(c, 1, mtime=0) if file.endswith(".gz") else c
        for file, c in contents.items()
    }


def load(entry, name, files):
    """Write the files and load the set; return it or the refusal."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / FOLDERS.get(name, "")
        for file, content in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(content)
        try:
            dataset = entry.load(np.random.default_rng(0), Path(root))
        except DataError:
            return None
        parts = (dataset.train, dataset.test)
        return b"".join(np.array(a).tobytes() for part in parts for a in (part.x, part.y))


def damaged(content, position, noise, how):
    at = position % (len(content) + 1)
    end = {"overwrite": at + len(noise), "insert": at, "cut": len(content), "drop": at + 9}[how]
    return content[:at] + noise + content[end:]


damage = st.tuples(
    st.integers(0, 2**20),
    st.binary(max_size=12) | st.sampled_from([b"\xff" * 8, b"9" * 400, b"[" * 3000, b"-1", b"NaN"]),
    st.sampled_from(["overwrite", "insert", "cut", "drop"]),
)


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_those_of_the_set(name):
    contents = FILES[name]

    assert load(published(name, contents), name, stored(name, contents))


@pytest.mark.parametrize("name", CHECKED)
@given(which=st.integers(0, 9), damage=damage)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_a_damaged_file_is_refused_unless_nothing_is_lost(name, which, damage):
    contents = FILES[name]
    entry, files = published(name, contents), stored(name, contents)
    file = sorted(files)[which % len(files)]

    got = load(entry, name, files | {file: damaged(files[file], *damage)})

    assert got is None or got == load(entry, name, files)


@pytest.mark.parametrize("name", FORGEABLE)
@given(which=st.integers(0, 9), damage=damage)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_a_file_forged_with_its_checksum_is_read_or_refused(name, which, damage):
    contents = dict(FILES[name])
    file = sorted(contents)[which % len(contents)]
    contents[file] = damaged(contents[file], *damage)

    load(published(name, contents), name, stored(name, contents))


CLAIMS = {
    "fmnist": ("train-images-idx3-ubyte.gz", b"\0\0\x08\x03" + b"\0\x10\0\0" * 2 + b"\0\0\0\1xx"),
    "leaf": ("train/all_data_0.json", b'{"users": ["a"], "num_samples": [1099511627776], "user_da'),
    "parquet": ("part-0.parquet", b"PAR1" + b"\xff" * 64 + b"\xff\xff\xff\x7fPAR1"),
    "tiny-imagenet": (
        "val/images/val_0.JPEG",
        # A frame of 65,535 x 65,535 pixels in three channels.
        b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x11\x00\x02\x11\x01\x03\x11\x01"
        b"\xff\xd9",
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_header_that_claims_more_than_there_is_is_refused_before_anything_is_allocated(name):
    file, content = CLAIMS[name]
    contents = FILES[name] | {file: content}
    tracemalloc.start()

    refused = load(published(name, contents), name, stored(name, contents)) is None

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused
    assert peak < 20_000_000
