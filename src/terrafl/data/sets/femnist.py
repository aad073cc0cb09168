"""FEMNIST: 28 x 28 grey images of 62 kinds of handwritten characters, by writer.

Two layouts are read: the JSON files of LEAF, in ``train`` and ``test`` (its writers' division),
and the parquet file of the Hugging Face set flwrlabs/femnist, 814,277 characters by 3,597
writers, which has no division. Both are ink 0 on paper 255 here, and are read once: see
:mod:`terrafl.data.cache`.

Notes
-----
LEAF's files depend on the options of its script, and the hub's may be of another revision than
the one that is fetched: what is checked of either is the form. LEAF stores each writer's first
image twice, all but the first writer's; they are left as published.

References
----------
Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018; Cohen et al., "EMNIST", 2017.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from terrafl.data.archive import Archive
from terrafl.data.cache import ArrayWriter, cache_place, cached_arrays
from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.entry import Entry
from terrafl.data.files import Progress, search_folders
from terrafl.data.holdout import hold_out
from terrafl.data.leaf import LeafFile
from terrafl.data.npz import Arrays
from terrafl.errors import DataError

__all__ = ["FEMNIST", "WriterFolder"]

_SIDE = 28
_PARTS = ("train", "test")
_NUM_WRITERS, _NUM_EXAMPLES = 3597, 814277  # of the parquet layout


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterFolder:
    """A folder of characters by writer, in either layout."""

    name: str

    def find(self, folder: Path) -> Path | None:
        """Return the folder, or ``data`` in it, if it looks like either layout."""
        places = (folder, folder / "data")
        return next((place for place in places if _leaf(place) or _parquet(place)), None)

    def verify(self, path: Path) -> None:
        """Raise unless every file can be read."""
        self.read(path)

    def describe(self, path: Path) -> str:
        """Return the layout, and how many writers and examples there are."""
        arrays = self.read(path)
        writers = [array for name, array in arrays.items() if name.endswith("writer")]
        counts = len(np.unique(np.concatenate(writers))), sum(map(len, writers))
        layout = "LEAF's layout" if len(writers) > 1 else "the hub's layout"
        whole = counts == (_NUM_WRITERS, _NUM_EXAMPLES)
        usual = "" if whole else f" (the fetched set: {_NUM_WRITERS:,} and {_NUM_EXAMPLES:,})"
        return f"{layout}, {counts[0]:,} writers, {counts[1]:,} examples{usual}"

    def read(self, path: Path, progress: Progress | None = None) -> Arrays:
        """Return the arrays, made the first time and mapped ever after."""
        leaf, parquet = _leaf(path), _parquet(path)
        key = _digest([file for files in leaf.values() for file in files] or parquet)

        def make(folder: Path) -> None:
            if leaf:
                for part, files in leaf.items():
                    _write_leaf(files, folder, part, progress)
            else:
                _write_parquet(parquet, folder, progress)

        return cached_arrays(cache_place(path, f"femnist-{key[:16]}"), make)


def _leaf(folder: Path) -> dict[str, list[Path]]:
    """Return LEAF's files by part; nothing unless there are some in both parts."""
    found = {part: sorted((folder / part).glob("all_data*.json")) for part in _PARTS}
    return found if all(found.values()) else {}


def _parquet(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        try:
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError as error:
            raise DataError(f"{file} must be readable; got: {error}.") from error
    return digest.hexdigest()


def _write_leaf(paths: Sequence[Path], folder: Path, part: str, progress: Progress | None) -> None:
    files = [LeafFile(path, _SIDE * _SIDE) for path in paths]
    total = sum(sum(file.num_samples.values()) for file in files)
    if not total:
        raise DataError(f"{paths[0]} and its like must hold samples; got none.")
    labels, writers, done = [], [], 0
    with ArrayWriter(folder / f"{part}_x.npy", "|u1", (total, 1, _SIDE, _SIDE)) as images:
        for file in files:
            for user in file.users():
                images.append(user.x.reshape(-1, 1, _SIDE, _SIDE))
                labels.append(user.y)
                writers += [user.name] * len(user.y)
                done += len(user.y)
                if progress is not None:
                    progress(f"femnist {part}", done, total)
    np.save(folder / f"{part}_y.npy", np.concatenate(labels), allow_pickle=False)
    np.save(folder / f"{part}_writer.npy", np.array(writers, dtype=np.str_), allow_pickle=False)


def _write_parquet(paths: Sequence[Path], folder: Path, progress: Progress | None) -> None:
    from terrafl.data.parquet import num_rows, read_rows

    total, labels, writers = num_rows(paths), [], []
    with ArrayWriter(folder / "x.npy", "|u1", (total, 1, _SIDE, _SIDE)) as images:
        for rows in read_rows(paths, side=_SIDE):
            images.append(rows.x)
            labels.append(rows.y)
            writers += rows.writer
            if progress is not None:
                progress("femnist", len(writers), total)
    np.save(folder / "y.npy", np.concatenate(labels), allow_pickle=False)
    np.save(folder / "writer.npy", np.array(writers, dtype=np.str_), allow_pickle=False)


def _folders(root: Path | None) -> tuple[Path, ...]:
    # Not the user's folder itself, whose files may be any data set's.
    places = search_folders(root, ("femnist", "leaf/femnist"))
    return tuple(place for place in places if place.name == "femnist")


def _decode(contents: Mapping[str, Arrays], generator: np.random.Generator) -> Dataset:
    """Keep LEAF's division; without one, divide each writer's characters 90 to 10."""
    (arrays,) = contents.values()
    if "test_x" in arrays:
        train, test = (_examples(arrays, f"{part}_") for part in _PARTS)
    else:
        everything = _examples(arrays, "")
        assert everything.group is not None
        held = hold_out(everything.group, 0.1, generator)
        train, test = (
            Examples(everything.x[rows], everything.y[rows], everything.group[rows])
            for rows in (~held, held)
        )
    return Dataset(
        name="femnist", train=train, test=test, num_classes=62, normalisation=Normalisation(255.0)
    )


def _examples(arrays: Arrays, prefix: str) -> Examples:
    return Examples(
        arrays[f"{prefix}x"].astype(np.uint8, copy=False),
        arrays[f"{prefix}y"].astype(np.int64, copy=False),
        arrays[f"{prefix}writer"].astype(np.str_, copy=False),
    )


FEMNIST = Entry(
    name="femnist",
    title="FEMNIST, 28 x 28 grey images of characters by 3,597 writers",
    # Of the parquet layout, about: the division of each writer's characters is rounded.
    num_train=_NUM_EXAMPLES * 9 // 10,
    num_test=_NUM_EXAMPLES - _NUM_EXAMPLES * 9 // 10,
    num_classes=62,
    files=(WriterFolder(name="the folder femnist"),),
    folders=_folders,
    other_way="put the train and test folders that LEAF's script writes in {home}/femnist",
    decode=_decode,
    base_url=(
        "https://huggingface.co/datasets/flwrlabs/femnist/resolve/"
        "df739a2b09df2b5cc1ec93107659b9a9a8566487/data/"
    ),
    folder="femnist",
    original=Archive(
        name="train-00000-of-00001.parquet",
        size=None,
        sha256="cdb389c8d41d5facab79a4a8d452724c30d9c629a1c1e0b1e9ae9de2c633522b",
    ),
    slow=True,
)
