"""The positions of a model's tensors in one flat vector."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Entry(NamedTuple):
    """One named tensor, and the slice of the vector that holds it."""

    name: str
    shape: tuple[int, ...]
    place: slice


@dataclass(frozen=True, slots=True)
class Layout:
    """Parameters first, then floating-point buffers, in the order of the network.

    Parameters
    ----------
    parameters, buffers
        The tensors.
    final_layer
        Name of the module whose weight and bias are the final layer.
    """

    parameters: tuple[Entry, ...]
    buffers: tuple[Entry, ...]
    final_layer: str

    @classmethod
    def of(
        cls,
        parameters: Sequence[tuple[str, tuple[int, ...]]],
        buffers: Sequence[tuple[str, tuple[int, ...]]],
        final_layer: str,
    ) -> "Layout":
        """Place the tensors one after another."""
        tensors = [*parameters, *buffers]
        ends = pairwise(accumulate((math.prod(shape) for _, shape in tensors), initial=0))
        entries = tuple(Entry(*t, slice(*e)) for t, e in zip(tensors, ends, strict=True))
        return cls(entries[: len(parameters)], entries[len(parameters) :], final_layer)

    @property
    def num_parameters(self) -> int:
        """How many elements are trained by gradient."""
        return sum(math.prod(entry.shape) for entry in self.parameters)

    @property
    def size(self) -> int:
        """How many elements the vector has."""
        return self.num_parameters + sum(math.prod(entry.shape) for entry in self.buffers)

    @property
    def final_weight(self) -> slice:
        """The slice of the final layer's weight."""
        return self._final("weight")

    @property
    def final_bias(self) -> slice:
        """The slice of the final layer's bias."""
        return self._final("bias")

    def _final(self, what: str) -> slice:
        name = f"{self.final_layer}.{what}"
        return next(entry for entry in self.parameters if entry.name == name).place

    def tensors(self, vector: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Return the tensors by name, as views of the vector."""
        return {
            entry.name: vector[entry.place].reshape(entry.shape)
            for entry in (*self.parameters, *self.buffers)
        }
