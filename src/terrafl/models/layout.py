"""How a model lies in one flat vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Entry", "Layout"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One named tensor and where it lies."""

    name: str
    shape: tuple[int, ...]
    start: int

    @property
    def stop(self) -> int:
        """Where the next tensor may start."""
        return self.start + math.prod(self.shape)

    @property
    def place(self) -> slice:
        """The tensor's part of the vector."""
        return slice(self.start, self.stop)


@dataclass(frozen=True, slots=True)
class Layout:
    """Parameters first, then floating-point buffers, in the network's own order.

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
        """Lay tensors out one after another."""
        entries: list[Entry] = []
        start = 0
        for name, shape in [*parameters, *buffers]:
            entries.append(Entry(name, shape, start))
            start = entries[-1].stop
        split = len(parameters)
        return cls(tuple(entries[:split]), tuple(entries[split:]), final_layer)

    @property
    def num_parameters(self) -> int:
        """Numbers that training changes by gradient."""
        return self.parameters[-1].stop

    @property
    def size(self) -> int:
        """Numbers in the vector."""
        return (self.buffers or self.parameters)[-1].stop

    @property
    def final_weight(self) -> slice:
        """Where the final layer's weight lies."""
        return self._final("weight")

    @property
    def final_bias(self) -> slice:
        """Where the final layer's bias lies."""
        return self._final("bias")

    def _final(self, what: str) -> slice:
        name = f"{self.final_layer}.{what}"
        return next(entry for entry in self.parameters if entry.name == name).place

    def tensors(self, vector: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Return the vector's parts by name, as views."""
        return {
            entry.name: vector[entry.place].reshape(entry.shape)
            for entry in (*self.parameters, *self.buffers)
        }
