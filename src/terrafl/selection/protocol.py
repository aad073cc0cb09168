"""The interface that every selector speaks, wherever it runs.

A round is a conversation. :meth:`Selector.draw` names the first cohort; after the cohort has
trained, :meth:`Selector.refine` hears the accepted reports and names the next cohort of the
same round, or nobody when the round is over. Nothing here knows whether the clients are
simulated, on one machine or on many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require
from terrafl.selection.report import Need, Report

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

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

State: TypeAlias = Mapping[str, "Json | NDArray[np.generic]"]
"""What a selector must remember: JSON values and numeric arrays under plain names."""

Averaging = Literal["size", "plain"]
"""Weight a client by its number of examples, or every client alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """All clients that could ever be drawn: two arrays, however many clients there are.

    Parameters
    ----------
    ids
        Client ids in string order, no two alike.
    sizes
        Number of training examples of each, $|D^k_{train}|$.

    Examples
    --------
    >>> population = Population.of({"b": 30, "a": 10})
    >>> population.ids.tolist(), population.sizes.tolist()
    (['a', 'b'], [10, 30])
    >>> population.index(["b"]).tolist()
    [1]
    """

    ids: NDArray[np.str_]
    sizes: NDArray[np.int64]

    def __post_init__(self) -> None:
        require(self.ids.shape == self.sizes.shape, "sizes", self.sizes.shape, "one per client id")
        require(len(self.ids) > 0, "population", 0, "at least one client")
        ordered = bool((self.ids[:-1] < self.ids[1:]).all())
        require(ordered, "client ids", self.ids[:3].tolist(), "distinct and in string order")
        smallest = int(self.sizes.min())
        require(smallest >= 1, "sizes", smallest, "at least 1 example for every client")

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> Population:
        """Build a population from a mapping of client ids to sizes."""
        ids = sorted(sizes)
        return cls(np.array(ids, dtype=np.str_), np.array([sizes[i] for i in ids], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def index(self, client_ids: Sequence[str]) -> NDArray[np.intp]:
        """Return the positions of these clients; every one must be known."""
        wanted = np.asarray(client_ids, dtype=np.str_)
        found = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        unknown = wanted[self.ids[found] != wanted]
        require(unknown.size == 0, "client ids", unknown[:3].tolist(), "members of the population")
        return found

    def names(self, positions: Iterable[int] | NDArray[np.integer]) -> tuple[str, ...]:
        """Return the ids at these positions."""
        return tuple(self.ids[np.asarray(positions, dtype=np.intp)].tolist())


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


@dataclass(frozen=True, slots=True)
class Cohort:
    """Who trains next, and why.

    Parameters
    ----------
    clients
        Distinct client ids in string order; empty when the round is over.
    draws
        How often each was drawn. A client drawn twice trains once and weighs twice.
    why
        The decision, as one journal event (``{"event": "split", ...}``); may be empty.
    """

    clients: tuple[str, ...] = ()
    draws: tuple[int, ...] = ()
    why: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, client_ids: Iterable[str], why: Mapping[str, Json] | None = None) -> Cohort:
        """Collect ids, repeated ones counted, in string order.

        Examples
        --------
        >>> Cohort.of(["b", "a", "b"])
        Cohort(clients=('a', 'b'), draws=(1, 2), why={})
        """
        counts = Counter(client_ids)
        clients = tuple(sorted(counts))
        return cls(clients, tuple(counts[c] for c in clients), why or {})

    def __len__(self) -> int:
        return len(self.clients)


@runtime_checkable
class Selector(Protocol):
    """A client selection methodology.

    A selector is a dataclass whose constructor arguments are its settings: they are what a
    configuration file holds. Anything learnt during a run lives in fields outside the
    constructor and travels through :meth:`state` and :meth:`restore`.
    """

    name: ClassVar[str]
    """The name used in configuration files, on the command line and in summaries."""

    draws_with_replacement: ClassVar[bool]
    """Whether a client may be drawn more than once in a cohort."""

    averaging: ClassVar[Averaging]
    """How the cohort's models are averaged."""

    @property
    def needs(self) -> frozenset[Need]:
        """What the reports must carry; nothing more is computed or sent."""
        ...

    def draw(self, context: Context) -> Cohort:
        """Return the first cohort of a round."""
        ...

    def refine(self, reports: Sequence[Report]) -> Cohort:
        """Hear the accepted reports of the cohort; return the next one, empty to end the round.

        Reports arrive in the order of client ids and have passed
        :func:`terrafl.selection.report.judge`; there may be none.
        """
        ...

    def state(self) -> State:
        """Return what must survive a restart, between any two calls."""
        ...

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        ...
