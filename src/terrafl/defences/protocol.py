"""The interface of a defence: updates in, fewer or bounded updates out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from terrafl.records import Cohort, Population, Refusal, State, Update, Vector
from terrafl.runs.events import Event
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.protocol import Averaging


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iteration:
    r"""What a defence may know about the iteration that it inspects.

    Parameters
    ----------
    round, iteration
        When.
    received
        The model that the clients started from, $\theta$.
    cohort
        Who was asked to train.
    needs
        What reports must carry.
    averaging
        Whether a weight holds the client's number of examples.
    population
        Everybody, with the sizes that the server knows.
    final_layer
        Where the final layer lies; ``None`` where it is not known.
    """

    round: int
    iteration: int
    received: Vector
    cohort: Cohort
    needs: Collection[str]
    averaging: Averaging
    population: Population
    final_layer: FinalLayer | None


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a defence lets through, what it refuses, and what it did, for the journal."""

    updates: Sequence[Update]
    refusals: Sequence[Refusal] = ()
    events: Sequence[Event] = field(default=())


class Defence(Protocol):
    """A step between the clients and the mean; several form a chain.

    Derive from it for the defaults: a defence that remembers nothing.
    """

    def inspect(self, iteration: Iteration, updates: Sequence[Update]) -> Inspected:
        """Inspect the updates of an iteration, in client order."""
        ...

    def state(self) -> State:
        """Return what must survive a restart, between any two inspections."""
        return {}

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        return
