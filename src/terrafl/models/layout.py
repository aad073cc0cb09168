"""The positions of a model's tensors in one flat vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Entry:
    """One named tensor and its position."""

    name: str
    shape: tuple[int, ...]
    start: int

    @property
    def stop(self) -> int:
        """The position after the last element."""
        return self.start + math.prod(self.shape)

    @property
    def place(self) -> slice:
        """The slice of the vector that holds the tensor."""
        return slice(self.start, self.stop)


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
    ) -> Layout:
        """Place the tensors one after another."""
        entries: list[Entry] = []
        start = 0
        for name, shape in [*parameters, *buffers]:
            entries.append(Entry(name, shape, start))
            start = entries[-1].stop
        split = len(parameters)
        return cls(tuple(entries[:split]), tuple(entries[split:]), final_layer)

    @property
    def num_parameters(self) -> int:
        """How many elements are trained by gradient."""
        return self.parameters[-1].stop

    @property
    def size(self) -> int:
        """How many elements the vector has."""
        return (self.buffers or self.parameters)[-1].stop

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
