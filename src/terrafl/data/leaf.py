"""The JSON files of LEAF: images and labels by user.

A file is ``{"users": [...], "num_samples": [...], "user_data": {user: {"x": [[...], ...],
"y": [...]}, ...}}``, with pixels from 0 to 1.

Notes
-----
A file is read as a whole. LEAF's script writes at most 100 writers to a file; reading one (140 MB)
takes about 0.9 GB of memory, little more than the images of FEMNIST take.

References
----------
Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import DataError

__all__ = ["LeafUser", "read_users"]


class LeafUser(NamedTuple):
    """One user's images (n, pixels), in steps of 1/255, and labels."""

    name: str
    x: NDArray[np.uint8]
    y: NDArray[np.int64]


def read_users(path: Path, num_pixels: int) -> Iterator[LeafUser]:
    """Yield the users of a file, in the order in which it lists them.

    Parameters
    ----------
    path
        The file.
    num_pixels
        Numbers in each image.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            content = json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} must be a readable JSON file; got: {error}.") from error
    try:
        users = list(zip(content["users"], content["num_samples"], strict=True))
        user_data = content["user_data"]
        listed = sorted(user_data) == sorted(name for name, _ in users)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} must have users, num_samples, user_data; got: {error}.") from error
    if not listed:
        raise DataError(f"{path} must have the same users in users and user_data; got others.")
    for name, count in users:
        try:
            user = _user(name, count, user_data.pop(name), num_pixels)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"{path} must give user {name} {count} images of {num_pixels} pixels from 0 to 1 "
                f"and one label each; got: {error}."
            ) from error
        yield user


def _user(name: str, count: int, data: dict[str, object], num_pixels: int) -> LeafUser:
    pixels = np.asarray(data["x"], dtype=np.float64).reshape(-1, num_pixels)
    labels = np.asarray(data["y"], dtype=np.int64)
    if not len(pixels) == len(labels) == count or labels.ndim != 1:
        raise ValueError(f"{len(pixels)} images and {labels.shape} labels")
    if not ((pixels >= 0) & (pixels <= 1)).all():
        raise ValueError("other pixels")
    return LeafUser(name, np.rint(255 * pixels).astype(np.uint8), labels)
