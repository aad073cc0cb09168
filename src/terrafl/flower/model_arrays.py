"""A Flower model as one flat vector, and back to arrays of the same names and types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from terrafl.errors import ConfigurationError
from terrafl.records import Vector
from terrafl.selection.final_layer import FinalLayer

Arrays = Mapping[str, NDArray[np.generic]]

_BUFFERS = ("running_mean", "running_var", "moving_mean", "moving_variance")


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """How the floating-point arrays of a model lie in a vector; others are left where they are.

    Parameters come first, then buffers, such as a batch norm's statistics.

    Parameters
    ----------
    places
        Where each array lies.
    transposed
        The final layer's weight, if it is stored features x classes (as Keras does): in the
        vector it is classes x features.
    final_layer
        Where the final layer lies; ``None`` where the model has none that can be found.
    """

    places: Mapping[str, slice]
    transposed: str
    final_layer: FinalLayer | None

    @classmethod
    def of(cls, arrays: Arrays, name: str | None = None, *, wants_final_layer: bool) -> ArrayLayout:
        """Lay out a model.

        Parameters
        ----------
        arrays
            The model.
        name
            Of the final layer, ``head`` for ``head.weight`` and ``head.bias``. Left out, the
            bias is the last array of one dimension and the weight the last array of two
            dimensions before it that fits it, as in the state of nearly every classifier.
        wants_final_layer
            Whether the final layer is needed; a model without one is then refused.
        """
        floats = [key for key, array in arrays.items() if array.dtype.kind == "f"]
        places, start = {}, 0
        for key in sorted(floats, key=is_buffer):
            places[key] = slice(start, start + math.prod(arrays[key].shape))
            start = places[key].stop
        weight, bias = (f"{name}.weight", f"{name}.bias") if name else _last_fitting(arrays)
        if weight not in places or bias not in places or not _fits(arrays[weight], arrays[bias]):
            if not wants_final_layer:
                return cls(places, "", None)
            raise ConfigurationError(
                "final_layer must name a layer with a weight of two dimensions and a bias; "
                f"got {name!r} for a model with the arrays {', '.join(map(repr, arrays))}."
            )
        classes = len(arrays[bias])  # type: ignore[arg-type]  # it has one dimension
        transposed = weight if arrays[weight].shape[0] != classes else ""
        return cls(places, transposed, FinalLayer(places[weight], places[bias], classes))

    @property
    def num_parameters(self) -> int:
        """How many elements of the vector are trained by gradient."""
        return max((p.stop for k, p in self.places.items() if not is_buffer(k)), default=0)

    def vector(self, arrays: Arrays) -> Vector:
        """Return the model as a vector."""
        parts = [self._ordered(key, arrays[key]).ravel() for key in self.places]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)

    def arrays(self, vector: Vector, like: Arrays) -> dict[str, NDArray[np.generic]]:
        """Return a vector as a model, with the shapes and other arrays of another."""
        arrays = dict(like)
        for key, place in self.places.items():
            shape = self._ordered(key, like[key]).shape
            part = self._ordered(key, vector[place].reshape(shape))
            arrays[key] = np.ascontiguousarray(part, dtype=like[key].dtype)
        return arrays

    def _ordered(self, key: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
        return array.T if key == self.transposed else array


class ModelArrays:
    """The global model on Flower: a vector for the loop, arrays for the strategy.

    Parameters
    ----------
    record
        The model as Flower has it.
    final_layer
        Name of the final layer; ``None`` detects it.
    wants_final_layer
        Whether the selector needs the final layer.

    Attributes
    ----------
    vector
        The floating-point part of the model.
    num_bytes
        Its size on the wire.
    """

    def __init__(
        self, record: ArrayRecord, final_layer: str | None, *, wants_final_layer: bool
    ) -> None:
        self.layout = ArrayLayout.of(
            to_numpy(record), final_layer, wants_final_layer=wants_final_layer
        )
        self.replace(record)

    def replace(self, record: ArrayRecord) -> Vector:
        """Take another model of the same layout; return its vector."""
        arrays = to_numpy(record)
        self.record, self.vector = record, self.layout.vector(arrays)
        self.num_bytes = sum(array.nbytes for array in arrays.values())
        return self.vector

    def record_of(self, vector: Vector) -> ArrayRecord:
        """Return a vector as a record; arrays that hold no floats are those of the model."""
        if vector is not self.vector and not np.array_equal(vector, self.vector):
            arrays = self.layout.arrays(vector, to_numpy(self.record))
            self.replace(to_record(arrays))
        return self.record

    def integers(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that are not part of the vector."""
        arrays = to_numpy(self.record)
        return {key: a for key, a in arrays.items() if key not in self.layout.places}

    def dtypes(self) -> dict[str, str]:
        """Return the type of every array: a strategy may have changed it."""
        return {key: array.dtype.str for key, array in to_numpy(self.record).items()}

    def restore(self, integers: Arrays, dtypes: Mapping[str, str]) -> None:
        """Take up what :meth:`integers` and :meth:`dtypes` returned; floats come as a vector."""
        arrays = {**to_numpy(self.record), **integers}
        self.replace(to_record({key: arrays[key].astype(dtypes[key]) for key in arrays}))


def is_buffer(name: str) -> bool:
    """Return whether an array is a buffer, by the names that torch and Keras give them."""
    return name.endswith(_BUFFERS)


def to_numpy(record: ArrayRecord) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a record."""
    return {key: array.numpy() for key, array in record.items()}


def to_record(arrays: Arrays) -> ArrayRecord:
    """Return arrays as a record."""
    return ArrayRecord({key: Array(np.asarray(array)) for key, array in arrays.items()})


def _last_fitting(arrays: Arrays) -> tuple[str, str]:
    keys = list(arrays)
    for place in reversed(range(len(keys))):
        if arrays[keys[place]].ndim == 1:
            for key in reversed(keys[:place]):
                if _fits(arrays[key], arrays[keys[place]]):
                    return key, keys[place]
    return "", ""


def _fits(weight: NDArray[np.generic], bias: NDArray[np.generic]) -> bool:
    return weight.ndim == 2 and bias.ndim == 1 and bias.shape[0] in weight.shape
