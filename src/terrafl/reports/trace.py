r"""What a journal says, event by event: who trained, how far they moved, how well it went.

A trace grows with its journal, so it serves a finished run and one under way. It also says how
evenly the work is spread, and how accurate the model is for the worst clients. With $x_k$ the
number of times client $k$ of $N$ trained, the Gini coefficient is

.. math:: G = \frac{\sum_i \sum_j |x_i - x_j|}{2 N \sum_k x_k},

0 when all trained equally often, near 1 when one client did all the work. The worst decile is the
mean accuracy of the $\lceil n / 10 \rceil$ clients with the lowest accuracy, of the $n$ that have
test data.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from terrafl.reports.estimates import Estimate, estimate
from terrafl.runs import Point, RunFolder, events, read_events


@dataclass(slots=True)
class Clients:
    """The clients, column by column; a column that was not recorded is empty.

    Parameters
    ----------
    ids
        Client ids: those that the journal lists first, then others in the order they trained.
    sizes, distances, labels
        Training examples, distance of the label distribution from that of all clients, and most
        frequent label of the listed clients.
    listed
        Whether the journal lists the clients in its first line.
    """

    ids: list[str] = field(default_factory=list)
    sizes: Sequence[int] = ()
    distances: Sequence[float] = ()
    labels: Sequence[int] = ()
    listed: bool = False

    def size(self, client: int) -> int | None:
        """Return the training examples of the client at a position; ``None`` if unknown."""
        return self.sizes[client] if client < len(self.sizes) else None


@dataclass(slots=True)
class Step:
    """One iteration of one round.

    Parameters
    ----------
    round, iteration
        Both from 0.
    clients
        Positions in :attr:`Clients.ids`; in order of value where there is a split.
    values
        The update norm of each, or the measure of the split; ``None`` where unknown.
    split
        Terraform's split of this cohort.
    """

    round: int
    iteration: int
    clients: list[int]
    values: list[float | None]
    split: events.Split | None = None


@dataclass(slots=True)
class Trace:
    """What the journal and the timings say about a run."""

    federation: Clients = field(default_factory=Clients)
    steps: list[Step] = field(default_factory=list)
    evaluations: list[events.Evaluation] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)  # reason and client; the guard too
    served: list[float | None] = field(default_factory=list)  # accuracy of each client at the end
    _places: dict[str, int] = field(default_factory=dict)
    _spent: dict[tuple[type, int, int], float] = field(default_factory=dict)

    def add(self, event: events.Event) -> None:
        """Add one event of the journal or the timings; other events are ignored.

        An event that does not fit what came before, such as an evaluation of an earlier round,
        is ignored too.
        """
        match event:
            case events.Federation(ids=ids) if ids:
                columns = (event.sizes or (), event.distances or (), event.labels or ())
                self.federation = Clients(list(ids), *columns, listed=True)
                self._places = {client: place for place, client in enumerate(ids)}
            case events.Cohort():
                self._add_step(event)
            case events.Updates():
                self._set_values(event)
            case events.Split():
                self._set_split(event)
            case events.Evaluation(round=number):
                if not self.evaluations or self.evaluations[-1].round < number:
                    self.evaluations.append(event)
            case events.Refused():
                self.refused.append((event.reason, event.client))
            case events.Guarded():
                # Its reason holds numbers, so only the action can be counted.
                self.refused.append((f"guard: {event.action}", event.client))
            case events.Fairness(score=scores) if scores:
                self.served = list(scores)
            case events.Fairness():
                pairs = zip(event.correct or (), event.tested or (), strict=True)
                self.served = [right / tested if tested else None for right, tested in pairs]
            # The last entry counts where an iteration was done twice.
            case events.IterationTime():
                self._spent[events.IterationTime, event.round, event.iteration] = event.train_s
            case events.SelectionTime():
                self._spent[events.SelectionTime, event.round, event.iteration] = event.seconds

    def seconds(self) -> list[float]:
        """Return the seconds of selection and training up to each evaluation; empty if unknown."""
        by_round: defaultdict[int, float] = defaultdict(float)
        for (_, number, _), seconds in self._spent.items():
            by_round[number] += seconds
        waiting, total, totals = sorted(by_round, reverse=True), 0.0, []
        for evaluation in self.evaluations if self._spent else ():
            while waiting and waiting[-1] <= evaluation.round:
                total += by_round[waiting.pop()]
            totals.append(total)
        return totals

    def points(self) -> list[Point]:
        """Return the curve: one point per evaluation."""
        return [
            Point(e.round + 1, e.costs.client_updates, e.costs.samples_trained, e.accuracy)
            for e in self.evaluations
        ]

    def participation(self) -> list[int]:
        """Return how often each client trained."""
        counts = Counter(client for step in self.steps for client in step.clients)
        return [counts[place] for place in range(len(self.federation.ids))]

    def _add_step(self, event: events.Cohort) -> None:
        key, steps = (event.round, event.iteration), self.steps
        if steps and key <= (steps[-1].round, steps[-1].iteration):
            return
        clients = self._positions(event.clients)
        steps.append(Step(*key, clients, [None] * len(clients)))

    def _positions(self, clients: Sequence[str]) -> list[int]:
        for client in clients:
            if client not in self._places:
                self._places[client] = len(self.federation.ids)
                self.federation.ids.append(client)
        return [self._places[client] for client in clients]

    def _step_of(self, event: events.Updates | events.Split) -> Step | None:
        """Return the newest step if the event belongs to it."""
        key, step = (event.round, event.iteration), self.steps[-1] if self.steps else None
        return step if step and key == (step.round, step.iteration) else None

    def _set_values(self, event: events.Updates) -> None:
        step = self._step_of(event)
        if step is not None:
            known = dict(zip(self._positions(event.clients), event.update_norm or (), strict=False))
            step.values = [known.get(client) for client in step.clients]

    def _set_split(self, split: events.Split) -> None:
        step = self._step_of(split)
        if step is None:
            return
        positions = self._positions([client.id for client in split.clients])
        # A client that trained but was rejected stays, at the end: it did the work.
        rejected = [client for client in step.clients if client not in set(positions)]
        step.clients = positions + rejected
        step.values = [*(client.value for client in split.clients), *(None for _ in rejected)]
        step.split = split


def read_trace(folder: RunFolder) -> Trace:
    """Read the journal and timings of a run; what is not there stays empty."""
    trace = Trace()
    for path in (folder.journal, folder.timings):
        if path.exists():
            for event in read_events(path):
                trace.add(event)
    return trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """Means over the runs of a method; ``None`` where the journals do not say.

    Parameters
    ----------
    gini
        Of participation.
    never_percent
        Clients that never trained.
    worst_decile, mean, spread
        Of the clients' accuracies in percent: worst tenth, mean, and standard deviation.
    """

    gini: Estimate | None
    never_percent: Estimate | None
    worst_decile: Estimate | None
    mean: Estimate | None
    spread: Estimate | None


def gini(counts: Sequence[int]) -> float:
    """Return the Gini coefficient of participation; 0 when no client took part.

    Examples
    --------
    >>> gini([3, 3, 3]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    x = np.sort(np.asarray(counts, dtype=np.float64))
    total, n = x.sum(), len(x)
    if not total:
        return 0.0
    ranks = np.arange(1, n + 1)
    return float((2 * (ranks * x).sum() / total - (n + 1)) / n)


def worst_decile(accuracies: Sequence[float]) -> float:
    """Return the mean of the lowest tenth.

    Examples
    --------
    >>> worst_decile([0.9] * 18 + [0.1, 0.3])
    0.2
    """
    return fmean(sorted(accuracies)[: math.ceil(len(accuracies) / 10)])


def fairness_of(traces: Sequence[Trace]) -> Fairness:
    """Measure the runs of one method.

    Participation is counted over all clients, so it is known only if the journal lists them.
    """
    counts = [t.participation() for t in traces if t.federation.listed and t.steps]
    served = [[a for a in t.served if a is not None] for t in traces]
    served = [accuracies for accuracies in served if accuracies]
    return Fairness(
        gini=estimate([gini(c) for c in counts]),
        never_percent=estimate([100 * c.count(0) / len(c) for c in counts]),
        worst_decile=estimate([100 * worst_decile(a) for a in served]),
        mean=estimate([100 * fmean(a) for a in served]),
        spread=estimate([100 * float(np.std(a)) for a in served]),
    )
