"""FEMNIST: 28 x 28 grey images of 62 kinds of handwritten characters, by writer.

Two layouts can be read: the JSON files of LEAF, in ``train`` and ``test``, and the Parquet file of
the Hugging Face data set flwrlabs/femnist (814,277 characters by 3,597 writers), which is not
divided into training and test examples. In both, ink is 0 and paper is 255. The files are read
once: see :mod:`terrafl.data.cache`.

Notes
-----
LEAF's files depend on the options of its script, and the hub's may be of another revision than
the one that is fetched, so only their form is checked. LEAF stores the first image of every writer
but the first twice; the duplicates are kept.

References
----------
Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018; Cohen et al., "EMNIST", 2017.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.cache import ArrayWriter, cache_place, cached_arrays, cached_examples
from terrafl.data.dataset import Examples, Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import DataFile, Progress, Published
from terrafl.data.holdout import hold_out
from terrafl.data.npz import Arrays
from terrafl.data.writers import num_rows, read_rows, read_users
from terrafl.errors import DataError
from terrafl.folders import sha256_of

_SIDE = 28
_PARTS = ("train", "test")
_NUM_WRITERS, _NUM_EXAMPLES = 3597, 814277  # of the parquet layout


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterFolder(Published[Arrays]):
    """A folder of characters by writer, in either layout."""

    def find(self, folder: Path) -> Path | None:
        """Return the folder, or ``data`` in it, if it looks like either layout."""
        if folder.name != "femnist":  # the user's folder may hold files of any data set
            return None
        places = (folder, folder / "data")
        return next((place for place in places if _leaf(place) or _parquet(place)), None)

    def verify(self, path: Path) -> str:
        """Return the layout, and how many writers and examples there are."""
        arrays = self.read(path)
        writers = [array for name, array in arrays.items() if name.endswith("writer")]
        counts = len(np.unique(np.concatenate(writers))), sum(map(len, writers))
        layout = "LEAF's layout" if len(writers) > 1 else "the hub's layout"
        whole = counts == (_NUM_WRITERS, _NUM_EXAMPLES)
        usual = "" if whole else f" (the fetched set: {_NUM_WRITERS:,} and {_NUM_EXAMPLES:,})"
        return f"{layout}, {counts[0]:,} writers, {counts[1]:,} examples{usual}"

    def read(self, path: Path, progress: Progress | None = None) -> Arrays:
        """Return the arrays, made the first time and mapped later."""
        leaf, parquet = _leaf(path), _parquet(path)
        digest = hashlib.sha256()
        for file in list(chain(*leaf.values())) or parquet:
            digest.update(bytes.fromhex(sha256_of(file)))

        def make(folder: Path) -> Arrays:
            if not leaf:
                rows = read_rows(parquet, side=_SIDE)
                return _write(rows, num_rows(parquet), folder, "", progress)
            arrays: dict[str, NDArray[np.generic]] = {}
            for part, files in leaf.items():
                rows = (user for file in files for user in read_users(file, side=_SIDE))
                arrays |= _write(rows, None, folder, f"{part}_", progress)
            return arrays

        return cached_arrays(cache_place(path, f"femnist-{digest.hexdigest()[:16]}"), make)


def _leaf(folder: Path) -> dict[str, list[Path]]:
    """Return LEAF's files by part; nothing unless both parts have some."""
    files = {part: sorted((folder / part).glob("all_data*.json")) for part in _PARTS}
    return files if all(files.values()) else {}


def _parquet(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _write(
    parts: Iterator[Examples],
    total: int | None,
    folder: Path,
    prefix: str,
    progress: Progress | None,
) -> dict[str, NDArray[np.generic]]:
    """Write the images; return the labels and the writers."""
    labels, writers, done = [], [], 0
    with ArrayWriter(folder / f"{prefix}x.npy", "|u1", (1, _SIDE, _SIDE)) as images:
        for part in parts:
            assert part.group is not None  # both layouts name the writers
            images.append(part.x)
            labels.append(part.y)
            writers.append(part.group)
            done += len(part)
            if progress is not None:
                progress(f"femnist {prefix}".strip(" _"), done, total)
    if not done:
        raise DataError("the files of femnist must hold examples; got none.")
    return {f"{prefix}y": np.concatenate(labels), f"{prefix}writer": np.concatenate(writers)}


def _decode(contents: Mapping[str, Arrays], generator: np.random.Generator) -> Decoded:
    """Keep LEAF's division; otherwise divide each writer's characters 90 to 10."""
    (arrays,) = contents.values()
    if "test_x" in arrays:
        train, test = (cached_examples(arrays, f"{part}_") for part in _PARTS)
    else:
        everything = cached_examples(arrays, "")
        assert everything.group is not None
        held = hold_out(everything.group, 0.1, generator)
        train, test = everything.divide(held)
    return train, test, Normalisation(255.0)


FEMNIST = Entry(
    name="femnist",
    title="FEMNIST, 28 x 28 grey images of characters by 3,597 writers",
    # Of the Parquet layout, approximate: the division of each writer's characters is rounded.
    num_train=_NUM_EXAMPLES * 9 // 10,
    num_test=_NUM_EXAMPLES - _NUM_EXAMPLES * 9 // 10,
    num_classes=62,
    files=(WriterFolder(name="the folder femnist"),),
    decode=_decode,
    subfolders=("femnist", "leaf/femnist"),
    alternative="put the train and test folders that LEAF's script writes in {home}/femnist",
    base_url=(
        "https://huggingface.co/datasets/flwrlabs/femnist/resolve/"
        "df739a2b09df2b5cc1ec93107659b9a9a8566487/data/"
    ),
    original=DataFile(
        name="train-00000-of-00001.parquet",
        size=None,
        sha256="cdb389c8d41d5facab79a4a8d452724c30d9c629a1c1e0b1e9ae9de2c633522b",
    ),
    slow=True,
)
