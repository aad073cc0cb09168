"""The interface of a federated algorithm: the local objective, the aggregation and their state.

A model is one flat vector: parameters first, then buffers such as a batch norm's running
statistics. An algorithm treats it alike on one machine and on many.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

from terrafl.errors import ConfigurationError, TerraflError
from terrafl.records import ClientVectors, Population, State, Update, Vector

if TYPE_CHECKING:
    from torch import Tensor

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


@dataclass(frozen=True, slots=True, eq=False)
class LocalStep(Generic[Array]):
    """Where a client stands in one parameter tensor, before a step.

    Parameters
    ----------
    gradient
        Gradient of the loss.
    parameter, received
        The tensor now, and as the client received it in this iteration.
    shared, given
        The same part of the vectors that came with the model, by name.
    """

    gradient: Array
    parameter: Array
    received: Array
    shared: Mapping[str, Array]
    given: Mapping[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunFacts:
    """What an algorithm may know when a run starts, to refuse what it cannot do.

    Parameters
    ----------
    model
        The initial model.
    num_parameters
        How many of its elements are trained; the others are buffers.
    averaging
        Whether updates are averaged by ``size`` or ``plain``.
    optimizer, momentum, weight_decay
        How clients train; ``None`` where the server cannot know.
    client_vectors
        Returns where vectors per client are kept, given their names.
    """

    model: Vector
    num_parameters: int
    averaging: str
    optimizer: str | None
    momentum: float | None
    weight_decay: float | None
    client_vectors: Callable[[Sequence[str]], ClientVectors]

    def require_sgd(self, name: str) -> None:
        """Refuse clients that do not train with SGD, as far as that is known."""
        if self.optimizer not in ("sgd", None):
            raise ConfigurationError(
                f"{name} needs clients that train with SGD, since the steps of another optimiser "
                f"are no fixed sum of gradients; got {self.optimizer}: set training.optimizer = "
                '"sgd", or choose another algorithm.'
            )


@runtime_checkable
class Algorithm(Protocol):
    r"""A federated algorithm, $\mathcal{A}$; derive from it for the defaults.

    A dataclass whose constructor arguments are its settings. Anything learnt during a run
    travels through :meth:`state` and :meth:`restore`. The server calls, in this order,
    :meth:`begin` once, and in every iteration :meth:`shared`, :meth:`give`, :meth:`learn` and
    :meth:`aggregate`. Workers build their own copy for :meth:`correct_gradient`, which must
    depend on its arguments alone.
    """

    name: ClassVar[str]

    shares: ClassVar[tuple[str, ...]] = ()
    """Names of the vectors that :meth:`shared` sends to every client."""

    gives: ClassVar[tuple[str, ...]] = ()
    """Names of the vectors that :meth:`give` sends to one client: its state."""

    traffic: ClassVar[tuple[float, float]] = (0, 0)
    """Model sizes that each training sends down and up beyond the model itself."""

    needs_steps: ClassVar[bool] = False
    """Whether updates must carry ``steps`` and ``step_sum``; without them they are refused."""

    extra_passes: ClassVar[int] = 0
    """Forward passes per example beyond ordinary training, for clients that were given vectors."""

    @property
    def corrects_gradients(self) -> bool:
        """Whether :meth:`correct_gradient` does anything. Default: no."""
        return False

    def correct_gradient(self, at: LocalStep[Array]) -> Array:
        """Return the gradient of the local objective, given that of the loss.

        It must be elementwise: several clients' tensors may come stacked along a first axis.
        """
        return at.gradient

    @property
    def uses_features(self) -> bool:
        """Whether :meth:`local_loss` does anything. Default: no."""
        return False

    def local_loss(
        self, features: Tensor, received_features: Tensor, given_features: Mapping[str, Tensor]
    ) -> Tensor:
        """Return a term for each example that is added to the loss in local training.

        It is not part of the loss that is reported.

        Parameters
        ----------
        features
            The final layer's input for a mini-batch, (examples, width): of the model in training.
        received_features, given_features
            The same of the model received, and of each given vector as a model, by name. They are
            constants.
        """
        return 0 * features[:, 0]

    def begin(self, run: RunFacts) -> None:
        """Prepare for a run; refuse what the algorithm cannot do. Default: nothing."""
        return

    def shared(self, population: Population) -> Mapping[str, Vector]:
        """Return the vectors that every client receives with the model."""
        return {}

    def give(self, client_id: str, population: Population) -> Mapping[str, Vector]:
        """Return the vectors that one client receives with the model.

        All names in :attr:`gives`. An algorithm that only adds to the loss may return none of
        them: the client then trains without :meth:`local_loss`.
        """
        return {}

    def learn(self, received: Vector, updates: Sequence[Update], population: Population) -> None:
        """Take in an iteration's updates, after the defences and before the aggregation."""
        return

    @abstractmethod
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

    def readouts(self, model: Vector) -> Mapping[str, Vector]:
        """Return the models to evaluate, by name; the first is reported and saved."""
        return {"raw": model}

    def state(self) -> State:
        """Return what must survive a restart. Default: nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        return
