"""A Flower model as one flat vector, the form in which norms are taken and updates clipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.protocol import Vector
from terrafl.errors import ConfigurationError
from terrafl.selection.final_layer import FinalLayer

__all__ = ["Flat"]

Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Flat:
    """How the floating-point arrays of a model lie in a vector; others are left where they are.

    Parameters
    ----------
    places
        Where each array lies.
    transposed
        The final layer's weight, if it is stored features x classes (as Keras does): in the
        vector it is classes x features.
    final_layer
        Where the final layer lies; nowhere, if nobody asks for it.
    """

    places: Mapping[str, slice]
    transposed: str
    final_layer: FinalLayer

    @classmethod
    def of(cls, arrays: Arrays, name: str | None = None, *, wants_final_layer: bool) -> Flat:
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
        places, start = {}, 0
        for key, array in arrays.items():
            if array.dtype.kind == "f":
                places[key] = slice(start, start + math.prod(array.shape))
                start = places[key].stop
        if not wants_final_layer:
            return cls(places, "", FinalLayer(slice(0, 0), slice(0, 0), 1))
        weight, bias = (f"{name}.weight", f"{name}.bias") if name else _last_fitting(arrays)
        if weight not in places or bias not in places or not _fits(arrays[weight], arrays[bias]):
            raise ConfigurationError(
                "final_layer must name a layer with a weight of two dimensions and a bias; "
                f"got {name!r} for a model with the arrays {', '.join(map(repr, arrays))}."
            )
        classes = len(arrays[bias])  # type: ignore[arg-type]  # it has one dimension
        transposed = weight if arrays[weight].shape[0] != classes else ""
        return cls(places, transposed, FinalLayer(places[weight], places[bias], classes))

    def vector(self, arrays: Arrays) -> Vector:
        """Return the model as a vector."""
        parts = [self._ordered(key, arrays[key]).ravel() for key in self.places]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.float32)

    def arrays(self, vector: Vector, like: Arrays) -> dict[str, NDArray[np.generic]]:
        """Return a vector as a model, with the shapes and other arrays of another."""
        found = dict(like)
        for key, place in self.places.items():
            shape = self._ordered(key, like[key]).shape
            part = self._ordered(key, vector[place].reshape(shape))
            found[key] = np.ascontiguousarray(part, dtype=like[key].dtype)
        return found

    def _ordered(self, key: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
        return array.T if key == self.transposed else array


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
