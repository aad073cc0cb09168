"""A data set of one's own: one ``.npz`` file of arrays, named by its path."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.errors import DataError

__all__ = ["is_own", "load_own"]

Arrays = Mapping[str, NDArray[np.generic]]

_NEEDED = ("x_train", "y_train", "x_test", "y_test")
_OWNERS = ("owner_train", "owner_test")


def is_own(name: str) -> bool:
    """Return whether a data set's name is the path of a file.

    Examples
    --------
    >>> is_own("sensors.npz"), is_own("digits")
    (True, False)
    """
    return name.endswith(".npz")


def load_own(path: Path) -> Dataset:
    """Read a data set from a file of arrays.

    Parameters
    ----------
    path
        What ``numpy.savez`` wrote: inputs ``x_train`` and ``x_test`` of shape
        (n, channels, ...) or (n, features), as uint8 or floating-point numbers; labels
        ``y_train`` and ``y_test``, whole numbers from 0; and, if the examples belong to somebody,
        ``owner_train`` and ``owner_test``, one name each.

    Notes
    -----
    Inputs are standardised per channel (or feature) by the training examples' mean and standard
    deviation. No object is ever unpickled.
    """
    arrays = _read(path)
    try:
        return _dataset(arrays, path)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _read(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} must be a file that numpy.savez wrote; got: {error}.") from error
    missing = [name for name in _NEEDED if name not in arrays]
    both = sum(name in arrays for name in _OWNERS) != 1
    if missing or not both:
        raise DataError(
            f"{path} must hold {', '.join(_NEEDED)}, and {' and '.join(_OWNERS)} or neither; "
            f"it holds {', '.join(arrays) or 'nothing'}."
        )
    return arrays


def _dataset(arrays: Arrays, path: Path) -> Dataset:
    train, test = (_examples(arrays, part) for part in ("train", "test"))
    if train.x.shape[1:] != test.x.shape[1:] or train.x.ndim < 2 or not len(train):
        raise DataError(
            "x_train and x_test must be examples of one shape, at least one to train on; "
            f"got {train.x.shape} and {test.x.shape}."
        )
    return Dataset(
        name=path.stem,
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
        raise DataError(f"x_{part} must be finite; some of it is not.")
    own = arrays.get(f"owner_{part}")
    owner = None if own is None else own.astype(np.str_)
    labels = y.astype(np.int64)
    if x.dtype == np.uint8:
        return Examples(np.ascontiguousarray(x, dtype=np.uint8), labels, owner)
    return Examples(np.ascontiguousarray(x, dtype=np.float32), labels, owner)


def _standardisation(x: NDArray[np.generic]) -> Normalisation:
    axes = (0, *range(2, x.ndim))
    values = x.astype(np.float64)
    sd = values.std(axis=axes)
    sd[sd == 0] = 1.0  # a constant says nothing, and must not divide
    return Normalisation(1.0, tuple(values.mean(axis=axes).tolist()), tuple(sd.tolist()))
