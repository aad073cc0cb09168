"""A user's own data set: one ``.npz`` file of arrays, named by its path."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.npz import Arrays, read_npz
from terrafl.errors import DataError

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
        (n, channels, ...) or (n, features); the targets ``y_train`` and ``y_test``; and, if the
        examples have owners, ``owner_train`` and ``owner_test``, one name per example. Targets of
        an integer type are class labels, whole numbers from 0; floating-point targets are numbers
        for ``task = "regression"``.

    Notes
    -----
    Inputs that are uint8 or floating-point numbers are standardised per channel (or feature) by
    the mean and the standard deviation of the training examples. Inputs of another integer type
    reach the network as they are, as int64: a network with an embedding can use them. No object is
    unpickled.
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
    if train.y.dtype != test.y.dtype or (train.x.dtype == np.int64) != (test.x.dtype == np.int64):
        raise DataError("training and test examples must be of the same type: integers or not.")
    is_labelled = train.y.dtype == np.int64
    return Dataset(
        name=name,
        train=train,
        test=test,
        num_classes=1 + max(int(part.y.max(initial=0)) for part in (train, test))
        if is_labelled
        else None,
        normalisation=_standardisation(train.x),
    )


def _examples(arrays: Arrays, part: str) -> Examples:
    x, y = arrays[f"x_{part}"], arrays[f"y_{part}"]
    for name, values in ((f"x_{part}", x), (f"y_{part}", y)):
        if values.dtype.kind not in "iuf":
            raise DataError(f"{name} must be numbers; got {values.dtype}.")
        if not np.isfinite(values).all():
            raise DataError(f"{name} must be finite; got infinite values or NaN.")
    if y.ndim != 1:
        raise DataError(f"y_{part} must be one number per example; got shape {y.shape}.")
    owner = arrays.get(f"owner_{part}")
    group = None if owner is None else owner.astype(np.str_)
    stored = {"f": np.float32, "i": np.int64, "u": np.int64}
    kept = np.uint8 if x.dtype == np.uint8 else stored[x.dtype.kind]
    inputs, targets = np.ascontiguousarray(x, dtype=kept), y.astype(stored[y.dtype.kind])
    return Examples(inputs, targets, group)


def _standardisation(x: NDArray[np.generic]) -> Normalisation:
    if x.dtype == np.int64:
        return Normalisation()
    axes = (0, *range(2, x.ndim))
    values = x.astype(np.float64)
    sd = values.std(axis=axes)
    sd[sd == 0] = 1.0  # a constant feature must not cause a division by 0
    return Normalisation(1.0, tuple(values.mean(axis=axes).tolist()), tuple(sd.tolist()))
