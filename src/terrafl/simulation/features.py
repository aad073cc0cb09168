"""Features of a frozen backbone, computed once and kept on disk.

When only the head trains, the backbone's output never changes: it is computed on the first run,
by all cores, and mapped into memory afterwards. The file is known by what it depends on, weights,
resolution and pixels, and checked by its own checksum.
"""

import glob
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data import Dataset, Examples, Normalisation
from terrafl.data.cache import cached_arrays
from terrafl.errors import ConfigurationError
from terrafl.folders import user_cache
from terrafl.models import Backbone
from terrafl.settings import to_plain_named
from terrafl.simulation.memory import SharedMemory
from terrafl.simulation.process_group import ProcessGroup

OnImages = Callable[[int, int], None]
"""Called with images done and images to do."""

CHUNK = 512  # images; a multiple of the extractor's batch, so that chunks do not reach the result


def require_weights(dataset: str, backbone: Backbone) -> None:
    """Raise where features would have to be computed and the backbone's weights are missing.

    To be asked before the data is read, which may take long; features that are kept need no
    weights.

    Parameters
    ----------
    dataset
        The name of the data set, or the path of the user's file.
    backbone
        What turns its images into features.
    """
    # Which features the data has is not known until it is read: any of its own count.
    kept = f"{glob.escape(Path(dataset).stem)}-{type(backbone).name}-{'[0-9a-f]' * 16}"
    if not any((user_cache() / "features").glob(kept)):
        type(backbone).weights.locate()


def with_features(
    dataset: Dataset,
    backbone: Backbone,
    *,
    workers: int = 1,
    place: Path | None = None,
    on_images: OnImages = lambda done, total: None,
) -> Dataset:
    """Return the data set with features in place of images.

    Parameters
    ----------
    dataset
        Images, uint8 of shape (n, 3, height, width).
    backbone
        What turns them into features.
    workers
        Processes that compute; the result does not depend on it.
    place
        Where features are kept; left out, the user's cache.
    on_images
        Hears of progress when features must be computed.
    """
    if len(dataset.input_shape) != 3 or dataset.input_shape[0] != 3:
        raise ConfigurationError(
            f"backbone {type(backbone).name} needs colour images; {dataset.name} has inputs of "
            f"shape {dataset.input_shape}: leave the backbone out."
        )
    parts = {"train": dataset.train, "test": dataset.test}
    folder = (place or user_cache() / "features") / _key(dataset, backbone)
    arrays = cached_arrays(folder, lambda _: _computed(parts, backbone, workers, on_images))
    train, test = (
        Examples(np.asarray(arrays[name], dtype=np.float32), part.y, part.group)
        for name, part in parts.items()
    )
    return replace(dataset, train=train, test=test, normalisation=Normalisation())


def _key(dataset: Dataset, backbone: Backbone) -> str:
    digest = hashlib.sha256(type(backbone).weights.sha256.encode())
    settings = (sorted(to_plain_named(backbone).items()), type(backbone).input_normalisation)
    digest.update(repr(settings).encode())
    for part in (dataset.train, dataset.test):
        digest.update(repr(part.x.shape).encode())
        digest.update(np.ascontiguousarray(part.x).data)
    return f"{dataset.name}-{type(backbone).name}-{digest.hexdigest()[:16]}"


def _computed(
    parts: Mapping[str, Examples], backbone: Backbone, workers: int, on_images: OnImages
) -> dict[str, NDArray[np.float32]]:
    """Return the features of every part's images, computed chunk by chunk by free workers."""
    chunks = [
        (name, start, min(start + CHUNK, len(part)))
        for name, part in parts.items()
        for start in range(0, len(part), CHUNK)
    ]
    total, done = sum(len(part) for part in parts.values()), 0

    def count(index: int) -> None:
        nonlocal done
        _, start, stop = chunks[index]
        done += stop - start
        on_images(done, total)

    memory = SharedMemory()
    try:
        with ProcessGroup(
            "terrafl.simulation.feature_worker", workers, [memory.descriptor]
        ) as processes:
            images = memory.store({name: part.x for name, part in parts.items()})
            width = type(backbone).num_features
            features = memory.allocate(
                {name: ("<f4", (len(part), width)) for name, part in parts.items()}
            )
            processes.prepare(
                {
                    "do": "prepare",
                    "memory": memory.descriptor,
                    "backbone": to_plain_named(backbone),
                    "images": images,
                    "features": features,
                }
            )
            processes.ask(
                [{"do": "compute", "part": n, "start": a, "stop": b} for n, a, b in chunks], count
            )
            views = memory.view(features)
        return {name: np.asarray(view, dtype=np.float32) for name, view in views.items()}
    finally:
        memory.close()
