"""The JSON files of LEAF: images and labels by user, read one user at a time.

A file is ``{"users": [...], "num_samples": [...], "user_data": {user: {"x": [[...], ...],
"y": [...]}, ...}}``, in this order, pixels from 0 to 1.

References
----------
Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from terrafl.data.jsonstream import JsonStream
from terrafl.errors import DataError

__all__ = ["LeafFile", "LeafUser"]


class LeafUser(NamedTuple):
    """One user's images (n, pixels), in steps of 1/255, and labels."""

    name: str
    x: NDArray[np.uint8]
    y: NDArray[np.int64]


class LeafFile:
    """One LEAF file of images.

    Parameters
    ----------
    path
        The file.
    num_pixels
        Numbers in each image.

    Attributes
    ----------
    num_samples
        Images of each user, as the file declares them before it lists them.
    """

    def __init__(self, path: Path, num_pixels: int) -> None:
        self._path = path
        self._num_pixels = num_pixels
        with self._opened() as stream:
            self.num_samples = self._header(stream)

    def users(self) -> Iterator[LeafUser]:
        """Yield the users in the order of the file."""
        with self._opened() as stream:
            self._header(stream)
            separator = stream.take("{")
            if not self.num_samples:
                separator = stream.take("}")
            for expected, count in self.num_samples.items():
                name = stream.value()
                stream.take(":")
                user = self._user(name, stream.value())
                if (user.name, len(user.x)) != (expected, count):
                    raise self._fault(
                        f"give user {expected} {count} samples",
                        f"{len(user.x)} of user {user.name}",
                    )
                yield user
                separator = stream.take(",", "}")
            if separator != "}":
                raise self._fault("hold the users it declares", "more")

    @contextmanager
    def _opened(self) -> Iterator[JsonStream]:
        try:
            text = self._path.open(encoding="utf-8")
        except OSError as error:
            raise DataError(f"{self._path} must be readable; got: {error}.") from error
        with text:
            yield JsonStream(text, str(self._path))

    def _header(self, stream: JsonStream) -> dict[str, int]:
        """Read up to the users' data; return how many samples each user is said to have."""
        found: dict[str, object] = {}
        separator = stream.take("{")
        while separator in "{,":
            key = stream.value()
            stream.take(":")
            if key == "user_data":
                break
            found[str(key)] = stream.value()
            separator = stream.take(",", "}")
        users, counts = found.get("users"), found.get("num_samples")
        if not isinstance(users, list) or not isinstance(counts, list):
            raise self._fault("list users and num_samples before user_data", str(list(found)))
        sound = all(isinstance(count, int) and count >= 0 for count in counts)
        if not sound or len(set(map(str, users))) != len(counts) or len(users) != len(counts):
            raise self._fault("give each user one number of samples", f"{len(users)} users")
        # Each number takes a digit and a comma at the least.
        possible = self._path.stat().st_size // (2 * self._num_pixels)
        if sum(counts) > possible:
            raise self._fault(f"declare at most the {possible} samples it has room for", "more")
        return dict(zip(map(str, users), counts, strict=True))

    def _user(self, name: object, data: object) -> LeafUser:
        if not isinstance(name, str) or not isinstance(data, dict):
            raise self._fault("give each user x and y", repr(name))
        try:
            pixels = np.asarray(data.get("x"), dtype=np.float64).reshape(-1, self._num_pixels)
            labels = np.asarray(data.get("y"), dtype=np.int64)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._fault(f"hold numbers for user {name}", str(error)) from error
        if labels.shape != (len(pixels),) or not ((pixels >= 0) & (pixels <= 1)).all():
            raise self._fault(
                f"give user {name} one label per image and pixels from 0 to 1", "other numbers"
            )
        return LeafUser(name, np.rint(255 * pixels).astype(np.uint8), labels)

    def _fault(self, must: str, got: str) -> DataError:
        return DataError(f"{self._path} must {must}; got {got}.")
