"""A user's own data set: one ``.npz`` file of arrays, named by its path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.npz import Arrays, read_npz
from terrafl.errors import DataError

__all__ = ["is_npz_path", "load_npz"]

_NEEDED = {"x_train", "y_train", "x_test", "y_test"}
_OWNERS = {"owner_train", "owner_test"}


def is_npz_path(name: str) -> bool:
    """Return whether a data set's name is the path of an ``.npz`` file.

    Examples
    --------
    >>> is_npz_path("sensors.npz"), is_npz_path("digits")
    (True, False)
    """
    return name.endswith(".npz")


def load_npz(path: Path) -> Dataset:
    """Read a data set from a file of arrays.

    Parameters
    ----------
    path
        A file that ``numpy.savez`` wrote. It holds the inputs ``x_train`` and ``x_test`` of shape
        (n, channels, ...) or (n, features), as uint8 or floating-point numbers; the labels
        ``y_train`` and ``y_test``, whole numbers from 0; and, if the examples have owners,
        ``owner_train`` and ``owner_test``, one name per example.

    Notes
    -----
    Inputs are standardised per channel (or feature) by the mean and the standard deviation of the
    training examples. No object is unpickled.
    """
    arrays = read_npz(path)
    if not arrays.keys() >= _NEEDED or len(arrays.keys() & _OWNERS) == 1:
        raise DataError(
            f"{path} must hold x_train, y_train, x_test, y_test, and owner_train and owner_test "
            f"or neither; it holds {', '.join(arrays) or 'nothing'}."
        )
    try:
        return _dataset(arrays, path.stem)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _dataset(arrays: Arrays, name: str) -> Dataset:
    train, test = (_examples(arrays, part) for part in ("train", "test"))
    if train.x.shape[1:] != test.x.shape[1:] or train.x.ndim < 2 or not len(train):
        raise DataError(
            "x_train and x_test must be examples of one shape, with at least one training "
            f"example; got {train.x.shape} and {test.x.shape}."
        )
    return Dataset(
        name=name,
        train=train,
        test=test,
        num_classes=1 + max(int(part.y.max(initial=0)) for part in (train, test)),
        normalisation=_standardisation(train.x),
    )


def _examples(arrays: Arrays, part: str) -> Examples:
    x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
    if x.dtype != np.uint8 and not np.issubdtype(x.dtype, np.floating):
        raise DataError(f"x_{part} must be uint8 or floating-point numbers; got {x.dtype}.")
    if not np.issubdtype(y.dtype, np.integer) or y.ndim != 1:
        raise DataError(f"y_{part} must be one whole number per example; got {y.dtype}.")
    if not np.isfinite(x).all():
        raise DataError(f"x_{part} must be finite; got infinite values or NaN.")
    owner = arrays.get(f"owner_{part}")
    group = None if owner is None else owner.astype(np.str_)
    labels = y.astype(np.int64)
    if x.dtype == np.uint8:
        return Examples(np.ascontiguousarray(x, dtype=np.uint8), labels, group)
    return Examples(np.ascontiguousarray(x, dtype=np.float32), labels, group)


def _standardisation(x: NDArray[np.generic]) -> Normalisation:
    axes = (0, *range(2, x.ndim))
    values = x.astype(np.float64)
    sd = values.std(axis=axes)
    sd[sd == 0] = 1.0  # a constant feature must not cause a division by 0
    return Normalisation(1.0, tuple(values.mean(axis=axes).tolist()), tuple(sd.tolist()))
