"""The interface that every selector speaks, wherever it runs.

A round is a conversation. :meth:`Selector.draw` names the first cohort; after the cohort has
trained, :meth:`Selector.refine` hears the accepted reports and names the next cohort of the
same round, or nobody when the round is over. Nothing here knows whether the clients are
simulated, on one machine or on many.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.records import Cohort, Json, Population, Report, State
from terrafl.selection.report import Need

__all__ = [
    "Averaging",
    "Cohort",
    "Context",
    "Json",
    "Losses",
    "Population",
    "Selector",
    "State",
]

Averaging = Literal["size", "plain"]
"""Weight a client by its number of examples, or every client alike."""


class Losses(Protocol):
    """Ask clients for the loss of the current global model on their training data."""

    def __call__(
        self, clients: Sequence[str], *, sample_size: int | None = None
    ) -> NDArray[np.float64]:
        """Return one mean loss per client; NaN for a client that did not answer.

        With ``sample_size`` each client evaluates one random mini-batch of that many examples
        (all of them if it has fewer) instead of its whole training set.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a selector may know when it draws the first cohort of a round.

    Parameters
    ----------
    round
        This round, $r$, counted from 0.
    num_rounds
        Rounds planned, $R$.
    clients_per_round
        Clients wanted, $K$.
    population
        Everybody.
    generator
        A random stream that belongs to this round's selection alone.
    losses
        Ask clients for their loss before choosing; each question is counted as a cost.
    available
        Who can be reached now, one flag per client of the population; ``None`` is everybody.
    """

    round: int
    num_rounds: int
    clients_per_round: int
    population: Population
    generator: np.random.Generator
    losses: Losses
    available: NDArray[np.bool_] | None = None

    def eligible(self) -> NDArray[np.intp]:
        """Return the positions of the clients that can be reached, in order of id."""
        if self.available is None:
            return np.arange(len(self.population))
        return np.flatnonzero(self.available)

    def draw_uniformly(self) -> NDArray[np.intp]:
        """Draw $K$ distinct clients, each equally likely (all, if there are fewer).

        Every method that starts from a uniform draw uses this one, so that methods compared
        under one seed start their rounds with the same clients. Its cost follows $K$, not the
        population, while everybody is available.
        """
        if self.available is None:
            count = min(self.clients_per_round, len(self.population))
            return self.generator.choice(len(self.population), size=count, replace=False)
        reachable = self.eligible()
        count = min(self.clients_per_round, len(reachable))
        return self.generator.choice(reachable, size=count, replace=False)


@runtime_checkable
class Selector(Protocol):
    """A client selection method; derive from it for the defaults.

    A selector is a dataclass whose constructor arguments are its settings: they are what a
    configuration file holds. Anything learnt during a run lives in fields outside the
    constructor and travels through :meth:`state` and :meth:`restore`.
    """

    name: ClassVar[str]
    """The name used in configuration files, on the command line and in summaries."""

    averaging: ClassVar[Averaging] = "size"
    """How the cohort's models are averaged."""

    @property
    def needs(self) -> frozenset[Need]:
        """What the reports must carry; nothing more is computed or sent. Default: nothing."""
        return frozenset()

    @property
    def keeps_updates(self) -> bool:
        """Whether every client's newest update of a round stays in its average."""
        return False

    def smallest_cohort(self, clients_per_round: int) -> int:
        """Return the fewest clients that are averaged when everybody answers."""
        return clients_per_round

    @abstractmethod
    def draw(self, context: Context) -> Cohort:
        """Return the first cohort of a round."""
        ...

    def refine(self, reports: Sequence[Report]) -> Cohort:
        """Hear the accepted reports of the cohort; return the next one, empty to end the round.

        Reports arrive in the order of client ids and have passed
        :func:`terrafl.selection.report.judge`; there may be none. Default: the round ends.
        """
        return Cohort()

    def state(self) -> State:
        """Return what must survive a restart, between any two calls. Default: nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        return
