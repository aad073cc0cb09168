"""Images by writer in the Parquet files of the Hugging Face hub, read some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from terrafl.data.images import decode_image
from terrafl.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from pyarrow import parquet

__all__ = ["Rows", "num_rows", "read_rows"]

_LABELS = ("character", "label")
_BATCH = 4096


class Rows(NamedTuple):
    """Some examples: images (n, 1, side, side), labels, and the name of each writer."""

    x: NDArray[np.uint8]
    y: NDArray[np.int64]
    writer: list[str]


def num_rows(paths: Sequence[Path]) -> int:
    """Return how many examples these files declare."""
    return sum(int(_opened(path).metadata.num_rows) for path in paths)


def read_rows(paths: Sequence[Path], *, side: int) -> Iterator[Rows]:
    """Yield the examples of files with columns image, writer_id and character (or label).

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
                yield _rows(batch.to_pydict(), label, path, side)
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


def _rows(columns: dict[str, list[object]], label: str, path: Path, side: int) -> Rows:
    images = [image.get("bytes") if isinstance(image, dict) else None for image in columns["image"]]
    writers, labels = columns["writer_id"], columns[label]
    texts = [content for content in images if isinstance(content, bytes)]
    numbers = [number for number in labels if isinstance(number, int)]
    names = [name for name in writers if isinstance(name, str)]
    if not len(images) == len(texts) == len(numbers) == len(names):
        raise DataError(f"{path} must give every image its bytes, writer and label.")
    pixels = [decode_image(text, str(path), kind="PNG", side=side, mode="L") for text in texts]
    return Rows(np.stack(pixels), np.array(numbers, dtype=np.int64), names)
