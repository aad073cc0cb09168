"""Tiny ImageNet: 64 x 64 colour images of 200 kinds of things, in the official folder.

110,000 JPEG files are decoded once and kept as two arrays, see :mod:`terrafl.data.cache`. The
official test images have no labels, so the validation images are the test set, as is usual.

References
----------
Le and Yang, "Tiny ImageNet Visual Recognition Challenge", Stanford CS231N, 2015. From ImageNet,
for non-commercial research.
"""

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.archives import Archive
from terrafl.data.cache import ArrayWriter, cache_place, cached_arrays, cached_examples
from terrafl.data.dataset import Normalisation
from terrafl.data.entry import Decoded, Entry
from terrafl.data.files import Progress, Published
from terrafl.data.images import decode_image
from terrafl.data.npz import Arrays
from terrafl.errors import DataError

_SIDE = 64
_MAX_TEXT, _MAX_IMAGE = 1 << 23, 1 << 16  # bytes; the largest are 2.7 MB and 3 kB
_WNID = re.compile(r"n\d{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTree(Published[Arrays]):
    """The official folder, identified by the content of its files.

    Parameters
    ----------
    num_classes, num_per_class, num_val
        Numbers of classes, of training images per class, and of validation images.
    sha256
        SHA-256 over wnids.txt, words.txt, val/val_annotations.txt, the classes' box files and
        the images, classes in the order of their names, images in the order of their numbers.
    """

    num_classes: int
    num_per_class: int
    num_val: int
    sha256: str

    def find(self, folder: Path) -> Path | None:
        """Return the tree's path in this folder, valid or not."""
        path = folder / self.name
        return path if (path / "wnids.txt").is_file() else None

    def verify(self, path: Path) -> str:
        """Raise unless every file has the published content."""
        deque(self._contents(path), maxlen=0)
        return ""

    def files(self, path: Path) -> Iterator[str]:
        """Yield the name of each file, in the checksum's order."""
        wnids = self._wnids(path)
        yield from ("wnids.txt", "words.txt", "val/val_annotations.txt")
        for wnid in wnids:
            yield f"train/{wnid}/{wnid}_boxes.txt"
        for wnid in wnids:
            for i in range(self.num_per_class):
                yield f"train/{wnid}/images/{wnid}_{i}.JPEG"
        for i in range(self.num_val):
            yield f"val/images/val_{i}.JPEG"

    def read(self, path: Path, progress: Progress | None = None) -> Arrays:
        """Return images and labels, decoded the first time and mapped later."""
        place = cache_place(path, f"{self.name}-{self.sha256[:16]}")
        return cached_arrays(place, lambda folder: self._decode(path, folder, progress))

    def _decode(self, path: Path, folder: Path, progress: Progress | None) -> Arrays:
        """Write the images, verify the checksum in the same pass, and return the labels."""
        done, image_shape = 0, (3, _SIDE, _SIDE)
        total = self.num_classes * self.num_per_class + self.num_val
        with (
            ArrayWriter(folder / "train_x.npy", "|u1", image_shape) as train,
            ArrayWriter(folder / "test_x.npy", "|u1", image_shape) as test,
        ):
            for name, content in self._contents(path):
                if not name.endswith(".JPEG"):
                    continue
                image = decode_image(content, str(path / name), kind="JPEG", side=_SIDE, mode="RGB")
                (train if name.startswith("train/") else test).append(image[np.newaxis])
                done += 1
                if progress is not None and done % 500 == 0:
                    progress(self.name, done, total)
        train_y = np.repeat(np.arange(self.num_classes), self.num_per_class)
        return {"train_y": train_y, "test_y": self._val_labels(path)}

    def _contents(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of each file; raise at the end if the checksum differs."""
        digest = hashlib.sha256()
        for name in self.files(path):
            content = _read(path / name)
            digest.update(content)
            yield name, content
        if (found := digest.hexdigest()) != self.sha256:
            raise DataError(f"the sha256 of {path}'s files must be {self.sha256}; got {found}.")

    def _wnids(self, path: Path) -> list[str]:
        """Return the classes in the order of their names, which is the order of labels."""
        wnids = sorted(_read(path / "wnids.txt").decode(errors="replace").split())
        if len(set(wnids)) != self.num_classes or not all(map(_WNID.fullmatch, wnids)):
            raise DataError(f"{path / 'wnids.txt'} must name {self.num_classes} WordNet classes.")
        return wnids

    def _val_labels(self, path: Path) -> NDArray[np.int64]:
        annotations = path / "val" / "val_annotations.txt"
        lines = _read(annotations).decode(errors="replace").splitlines()
        wnid_of = dict(line.split("\t")[:2] for line in lines if line.count("\t") >= 1)
        label_of = {wnid: label for label, wnid in enumerate(self._wnids(path))}
        try:
            labels = [label_of[wnid_of[f"val_{i}.JPEG"]] for i in range(self.num_val)]
        except KeyError as error:
            raise DataError(f"{annotations} must give the class of {error}.") from error
        return np.array(labels, dtype=np.int64)


def _read(path: Path) -> bytes:
    limit = _MAX_IMAGE if path.suffix == ".JPEG" else _MAX_TEXT
    try:
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise DataError(f"{path} must be readable; got: {error}.") from error
    if len(content) > limit:
        raise DataError(f"{path} must hold at most {limit} bytes; got more.")
    return content


_TREE = ImageTree(
    name="tiny-imagenet-200",
    num_classes=200,
    num_per_class=500,
    num_val=10000,
    sha256="0ee0419fd1116e3446b0fb22a22efa1134ef9b82b3f050d155db0b565c87e7a7",
)


def _dataset(contents: Mapping[str, Arrays], generator: np.random.Generator) -> Decoded:
    """Read the official division; nothing is drawn."""
    (arrays,) = contents.values()
    train, test = (cached_examples(arrays, prefix) for prefix in ("train_", "test_"))
    # Mean and sd of the training pixels; a pretrained backbone has its own normalisation.
    normalisation = Normalisation(255.0, (0.4802, 0.4481, 0.3975), (0.2764, 0.2689, 0.2816))
    return train, test, normalisation


TINY_IMAGENET = Entry(
    name="tiny-imagenet",
    title="Tiny ImageNet, 64 x 64 colour images of 200 kinds of things",
    num_train=100000,
    num_test=10000,
    num_classes=200,
    files=(_TREE,),
    decode=_dataset,
    subfolders=("tiny-imagenet",),
    base_url="https://cs231n.stanford.edu/",
    archive=Archive(
        name="tiny-imagenet-200.zip",
        size=248100043,
        sha256="6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
        unpacked_limit=300_000_000,
    ),
    slow=True,
)
