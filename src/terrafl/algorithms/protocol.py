"""The interface of a federated algorithm: the local objective and the aggregation.

A model is one flat vector: parameters first, then buffers such as a batch norm's running
statistics. What an algorithm does to it is the same on one machine and on many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Algorithm", "Array", "ArrayLike", "LocalModel", "Vector"]

Vector = NDArray[np.float32]


class ArrayLike(Protocol):
    """What numpy arrays and torch tensors have in common, as far as an objective needs it."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...


Array = TypeVar("Array", bound=ArrayLike)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalModel:
    r"""What one client sends back.

    Parameters
    ----------
    client_id
        The client, $k$.
    vector
        Its model after local training, $\theta^k$.
    weight
        Its weight in the average, before normalisation.
    num_steps
        Optimiser steps it took.
    """

    client_id: str
    vector: Vector
    weight: float
    num_steps: int


@runtime_checkable
class Algorithm(Protocol):
    r"""A federated algorithm, $\mathcal{A}$.

    A dataclass whose constructor arguments are its settings. Anything learnt during a run
    travels through :meth:`state` and :meth:`restore`.
    """

    name: ClassVar[str]

    @property
    def corrects_gradients(self) -> bool:
        """Whether :meth:`correct_gradient` does anything."""
        ...

    def correct_gradient(self, gradient: Array, parameter: Array, received: Array) -> Array:
        """Return the gradient of the local objective, given that of the loss.

        Parameters
        ----------
        gradient
            Gradient of the loss in one parameter tensor.
        parameter, received
            That tensor now, and as the client received it in this iteration.
        """
        ...

    def aggregate(self, received: Vector, models: Sequence[LocalModel]) -> Vector:
        """Return the next global model from at least one local model, in client order."""
        ...

    def state(self) -> Mapping[str, NDArray[np.generic]]:
        """Return what must survive a restart."""
        ...

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Take up a state that :meth:`state` returned."""
        ...
