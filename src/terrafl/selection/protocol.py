"""The interface that every selector speaks, wherever it runs.

A round is a conversation. :meth:`Selector.draw` names the first cohort. After the cohort has
trained, :meth:`Selector.keep` may say who uploads. Then :meth:`Selector.refine` hears the accepted
reports and names the next cohort of the same round, or nobody when the round is over. Nothing
here knows whether the clients are simulated, on one machine or on many.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.records import Cohort, Floats, Population, Positions, Report, State
from terrafl.selection.needs import Need

Averaging = Literal["size", "plain"]
"""Weight a client by its number of examples, or every client alike."""


class Ask(Protocol):
    """Ask clients a question before choosing; each client that is asked is counted as a cost."""

    def __call__(
        self, clients: Sequence[str], what: str, *, sample_size: int | None = None
    ) -> Floats:
        """Return one answer per client; NaN for a client that did not answer.

        ``what`` is one of :data:`terrafl.federation.protocol.QUESTIONS`. With ``sample_size``
        each client evaluates one random mini-batch of that many examples (all of them if it has
        fewer) instead of its whole training set.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a selector may know when it chooses clients.

    Parameters
    ----------
    round
        This round, $r$, counted from 0.
    iteration
        The iteration that is chosen for, $t$, counted from 0: 0 in :meth:`Selector.draw`, at
        least 1 in :meth:`Selector.refine`. In :meth:`Selector.keep`, the one that has trained.
    num_rounds
        Rounds planned, $R$.
    clients_per_round
        Clients wanted, $K$.
    population
        Everybody.
    generator
        A random stream that belongs to this call alone: its key is round and iteration.
    ask
        Ask clients a question.
    available
        Who can be reached now, one flag per client of the population; ``None`` is everybody.
    """

    round: int
    num_rounds: int
    clients_per_round: int
    population: Population
    generator: np.random.Generator
    ask: Ask
    available: NDArray[np.bool_] | None = None
    iteration: int = 0

    @property
    def progress(self) -> float:
        """The part of the run that is done, in [0, 1]: rounds done / rounds planned."""
        return self.round / self.num_rounds

    def losses(self, clients: Sequence[str], *, sample_size: int | None = None) -> Floats:
        """Ask for the mean loss of the global model on each client's training data."""
        return self.ask(clients, "loss", sample_size=sample_size)

    def eligible(self) -> Positions:
        """Return the positions of the clients that can be reached, in order of id."""
        if self.available is None:
            return np.arange(len(self.population))
        return np.flatnonzero(self.available)

    def draw_uniformly(self) -> Positions:
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

    def draw_by_size(self, count: int, *, replace: bool = False) -> Positions:
        r"""Draw reachable clients, each with probability $p_k = n_k / \sum_j n_j$.

        Without replacement there are fewer than ``count`` when fewer can be reached.
        """
        reachable = self.eligible()
        if len(reachable) == 0:
            return reachable
        sizes = self.population.sizes[reachable]
        count = count if replace else min(count, len(reachable))
        return self.generator.choice(reachable, size=count, replace=replace, p=sizes / sizes.sum())


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
    """How the cohort's models are averaged, unless a cohort has given weights."""

    @property
    def needs(self) -> frozenset[Need]:
        """What the reports must carry, by name; nothing more is computed or sent.

        The names are those of :mod:`terrafl.selection.needs`. Default: nothing.
        """
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

    def keep(self, reports: Sequence[Report], context: Context) -> Cohort | None:
        """Choose, after the cohort has trained, who uploads; optional.

        The updates of the clients kept are averaged and heard; the others are dropped. The
        cohort may have given weights. Reports are as in :meth:`refine`. Default: ``None``, which
        keeps everybody.
        """
        return None

    def refine(self, reports: Sequence[Report], context: Context) -> Cohort:
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
