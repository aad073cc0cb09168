"""What a journal tells, event by event: who trained, how far they moved, how well it went.

A trace grows with its journal, so the same reading serves a finished run and one under way. Events
and fields it does not know are passed over: journals of older and newer versions stay readable.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from terrafl.errors import RunFolderError
from terrafl.runs import RunFolder, read_events

__all__ = ["Evaluation", "Federation", "Refused", "Split", "Step", "Trace", "read_trace", "take_in"]

Event = dict[str, Any]  # Any: what JSON can hold


@dataclass(slots=True)
class Federation:
    """The clients, column by column; a column that was not recorded is empty.

    Parameters
    ----------
    ids
        Client ids: all of them, or those that were seen if the journal does not list them.
    sizes, distances, labels
        Training examples, distance of the label law from everybody's, and main class.
    is_listed
        Whether ``ids`` came from the journal's first line.
    """

    ids: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    distances: list[float] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """Where Terraform cut a cohort: quartile positions, split and the signal sorted by."""

    k_q1: int
    k_q3: int
    tau: int
    signal: str


@dataclass(slots=True)
class Step:
    """One iteration of one round.

    Parameters
    ----------
    round, iteration
        Both from 0.
    clients
        Positions in :attr:`Federation.ids`; in order of value where there is a split.
    values
        The update norm of each, or whatever the split sorted by; ``None`` where unknown.
    split
        Of Terraform's steps.
    """

    round: int
    iteration: int
    clients: list[int]
    values: list[float | None]
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation; ``round`` counts rounds done, ``costs`` are totals by the summary's names."""

    round: int
    accuracy: float
    participating: float
    costs: dict[str, int]


@dataclass(frozen=True, slots=True)
class Refused:
    """A report that was not accepted, or that the guard did something to."""

    round: int
    iteration: int
    client: str
    reason: str


@dataclass(slots=True)
class Trace:
    """All that is known of a run from its journal and timings."""

    federation: Federation = field(default_factory=Federation)
    steps: list[Step] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    served: list[float | None] = field(default_factory=list)  # accuracy of each client at the end
    _places: dict[str, int] = field(default_factory=dict)
    _spent: dict[tuple[str, int, int], float] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take in one event of the journal."""
        kind = event.get("event")
        if kind == "federation":
            self._open(event)
        elif kind == "cohort":
            clients = [self._place(client) for client in event["clients"]]
            self.steps.append(
                Step(event["round"], event["iteration"], clients, [None] * len(clients))
            )
        elif kind == "updates":
            self._set_values(event["clients"], event["update_norm"])
        elif kind == "split":
            self._cut(event)
        elif kind == "evaluation":
            costs = {k: v for k, v in event.items() if k in _COSTS}
            accuracy: float = event["accuracy"]
            own = event.get("accuracy_participating", accuracy)
            self.evaluations.append(Evaluation(event["round"] + 1, accuracy, own, costs))
        elif kind in ("refused", "guard"):
            # The guard's reasons hold numbers; what it did is what can be counted.
            reason = event["reason"] if kind == "refused" else f"guard: {event['action']}"
            self.refused.append(
                Refused(event["round"], event["iteration"], event["client"], reason)
            )
        elif kind == "fairness":
            pairs = zip(event.get("correct", ()), event.get("tested", ()), strict=True)
            self.served = [right / tested if tested else None for right, tested in pairs]

    def time(self, event: Event) -> None:
        """Take in one entry of the timings; of an iteration done twice the last one counts."""
        key = (str(event.get("event")), event.get("round", -1), event.get("iteration", 0))
        if key[0] == "iteration":
            self._spent[key] = event["train_s"]
        elif key[0] == "selection":
            self._spent[key] = event["seconds"]

    def seconds(self) -> list[float]:
        """Return the seconds of selection and training up to each evaluation; empty if unknown."""
        by_round: defaultdict[int, float] = defaultdict(float)
        for (_, number, _), seconds in self._spent.items():
            by_round[number] += seconds
        last = self.evaluations[-1].round if self.evaluations else 0
        running = list(accumulate((by_round[number] for number in range(last)), initial=0.0))
        return [running[e.round] for e in self.evaluations] if self._spent else []

    def participation(self) -> list[int]:
        """Return how often each client trained."""
        counts = Counter(client for step in self.steps for client in step.clients)
        return [counts[place] for place in range(len(self.federation.ids))]

    def _open(self, event: Event) -> None:
        if "ids" not in event:
            return
        ids, sizes = list(event["ids"]), list(event["sizes"])
        distances, labels = list(event["distances"]), list(event["labels"])
        self.federation = Federation(ids, sizes, distances, labels, is_listed=True)
        self._places = {client: place for place, client in enumerate(self.federation.ids)}

    def _place(self, client: str) -> int:
        if client not in self._places:
            self._places[client] = len(self.federation.ids)
            self.federation.ids.append(client)
        return self._places[client]

    def _set_values(self, clients: list[str], values: list[float]) -> None:
        step = self.steps[-1]
        known = dict(zip(map(self._place, clients), values, strict=True))
        step.values = [known.get(client) for client in step.clients]

    def _cut(self, event: Event) -> None:
        if not self.steps:
            return
        step, rows = self.steps[-1], event["clients"]
        signal = next(key for key in rows[0] if key not in ("id", "num_examples"))
        placed = [self._place(row["id"]) for row in rows]
        # Whoever trained but was refused stays, at the end: its work was done.
        lost = [client for client in step.clients if client not in set(placed)]
        step.clients = placed + lost
        step.values = [*(row[signal] for row in rows), *(None for _ in lost)]
        step.split = Split(event["k_q1"], event["k_q3"], event["tau"], signal)


_COSTS = frozenset(
    {
        *("client_updates", "samples_trained", "loss_queries", "samples_queried"),
        *("bytes_down", "bytes_up", "reports_refused"),
    }
)


def read_trace(folder: RunFolder) -> Trace:
    """Read the journal and timings of a run; what is not there stays empty."""
    trace = Trace()
    for path, take in ((folder.journal, trace.add), (folder.timings, trace.time)):
        if path.exists():
            for number, event in enumerate(read_events(path), start=1):
                take_in(take, event, f"{path}, line {number},")
    return trace


def take_in(take: Callable[[Event], None], event: Event, where: str) -> None:
    """Hand on an event; say where it stands if it lacks what its kind must have."""
    try:
        take(event)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise RunFolderError(
            f"{where} must be an event as terrafl writes it; it is not "
            f"({type(error).__name__}: {error})."
        ) from error
