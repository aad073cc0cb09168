"""Images by writer: the JSON files of LEAF, and the Parquet files of the Hugging Face hub.

References
----------
Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from terrafl.data.dataset import Examples
from terrafl.data.images import decode_image
from terrafl.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from pyarrow import parquet

_LABELS = ("character", "label")
_BATCH = 4096

Column = list[Any]  # Any: what the file holds; checked before it is used
Columns = dict[str, Column]


def num_rows(paths: Sequence[Path]) -> int:
    """Return how many examples these files declare."""
    return sum(int(_opened(path).metadata.num_rows) for path in paths)


def read_rows(paths: Sequence[Path], *, side: int) -> Iterator[Examples]:
    """Yield the images of files with columns image, writer_id and character (or label).

    Parameters
    ----------
    paths
        The files.
    side
        The required height and width in pixels of every image, a grey PNG.
    """
    import pyarrow as pa

    for path in paths:
        file = _opened(path)
        names = file.schema_arrow.names
        label = next((name for name in _LABELS if name in names), _LABELS[0])
        columns = ["image", "writer_id", label]
        if not set(columns) <= set(names):
            raise DataError(f"{path} must have columns {', '.join(columns)}; got {names}.")
        try:
            for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
                yield _examples(batch.to_pydict(), label, path, side)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{path} must be a whole Parquet file; got: {error}.") from error


def _opened(path: Path) -> parquet.ParquetFile:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigurationError(
            f"{path.name} needs pyarrow, which is missing. Run pip install 'terrafl[parquet]'."
        ) from error
    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} must be a Parquet file; got: {error}.") from error


def _examples(columns: Columns, label: str, path: Path, side: int) -> Examples:
    images: Column = [
        image.get("bytes") if isinstance(image, dict) else None for image in columns["image"]
    ]
    labels, writers = columns[label], columns["writer_id"]
    for values, kind in ((images, bytes), (labels, int), (writers, str)):
        if not all(isinstance(value, kind) for value in values):
            raise DataError(f"{path} must give every image its bytes, writer and label.")
    pixels = [decode_image(image, str(path), kind="PNG", side=side, mode="L") for image in images]
    return Examples(np.stack(pixels), np.array(labels, dtype=np.int64), np.array(writers))


def read_users(path: Path, *, side: int) -> Iterator[Examples]:
    """Yield the users of a JSON file of LEAF, in the order in which it lists them.

    A file is ``{"users": [...], "num_samples": [...], "user_data": {user: {"x": [[...], ...],
    "y": [...]}, ...}}``, with pixels from 0 to 1, which become steps of 1/255.

    Parameters
    ----------
    path
        The file.
    side
        The height and width in pixels of every image.

    Notes
    -----
    A file is read as a whole. LEAF's script writes at most 100 writers to a file; reading one
    (140 MB) takes about 0.9 GB of memory, little more than the images of FEMNIST take.
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
            user = _user(name, count, user_data.pop(name), side)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"{path} must give user {name} {count} images of {side * side} pixels from 0 to 1 "
                f"and one label each; got: {error}."
            ) from error
        yield user


def _user(name: str, count: int, data: dict[str, object], side: int) -> Examples:
    pixels = np.asarray(data["x"], dtype=np.float64).reshape(-1, side * side)
    labels = np.asarray(data["y"], dtype=np.int64)
    if not len(pixels) == len(labels) == count or labels.ndim != 1:
        raise ValueError(f"{len(pixels)} images and {labels.shape} labels")
    if not ((pixels >= 0) & (pixels <= 1)).all():
        raise ValueError("other pixels")
    images = np.rint(255 * pixels).astype(np.uint8).reshape(-1, 1, side, side)
    return Examples(images, labels, np.array([name] * len(labels), dtype=np.str_))
