"""The interface of a federated algorithm: the local objective and the aggregation.

A model is one flat vector: parameters first, then buffers such as a batch norm's running
statistics. What an algorithm does to it is the same on one machine and on many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, Self, TypeVar, runtime_checkable

from terrafl.errors import TerraflError
from terrafl.records import Population, State, Update, Vector

__all__ = ["Algorithm", "Array", "ArrayLike", "Mean", "NotAggregated"]

Mean = Callable[[Vector, Sequence[Update]], Vector]
"""Returns the mean of updates, given the model they started from."""


class NotAggregated(TerraflError):
    """There is no next model: the global one stays, and the reason is written down."""


class ArrayLike(Protocol):
    """What numpy arrays and torch tensors have in common, as far as an objective needs it."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __rmul__(self, other: float, /) -> Self: ...


Array = TypeVar("Array", bound=ArrayLike)


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

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the next global model.

        Parameters
        ----------
        received
            The model that the clients started from.
        updates
            At least one, in client order.
        population
            Everybody.
        mean
            The weighted mean of the updates, or a robust rule in its place.
        """
        ...

    def state(self) -> State:
        """Return what must survive a restart."""
        ...

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        ...
