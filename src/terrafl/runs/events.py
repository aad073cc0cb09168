"""The events of a run: one frozen record per line of ``journal.jsonl`` and ``timings.jsonl``.

A simulation and a Flower server write the same types. A value that a server cannot know is
``null``. Names and keys of events only gain additions, so old journals stay readable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

SCHEMA = 2
"""Version of the events. Version 1 had no ``schema`` key and no Flower federation."""

Plain = dict[str, Any]  # Any: what JSON can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. Subclasses name their kind and add their fields.

    A field with a default is written only where it differs from the default.
    """

    kind: ClassVar[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class InIteration:
    """The round and the iteration of an event, both counted from 0."""

    round: int
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Federation(Event):
    """The clients, in the first line of a journal.

    Parameters
    ----------
    clients, examples, size_min, size_median, size_max
        Number of clients and of training examples, and how the examples are spread.
    mean_classes, mean_distance, redraws, repaired
        Label skew and partitioning; ``None`` where the server does not see labels.
    schema
        Version of the events of this journal.
    ids, sizes, distances, labels
        One entry per client; left out beyond 10,000 clients. ``distances`` and ``labels`` are
        ``None`` where the server does not see labels.
    """

    kind: ClassVar[str] = "federation"

    clients: int
    examples: int | None
    size_min: int | None
    size_median: float | None
    size_max: int | None
    mean_classes: float | None
    mean_distance: float | None
    redraws: int | None
    repaired: int | None
    ids: Sequence[str] = ()
    sizes: Sequence[int] | None = ()
    distances: Sequence[float] | None = ()
    labels: Sequence[int] | None = ()
    schema: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Attackers(Event):
    """The clients that attack in an experiment, and how (``attack``)."""

    kind: ClassVar[str] = "attackers"

    attack: str = field(metadata={"key": "kind"})
    clients: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift(Event):
    """Settings or versions that changed before this round: old and new value by name."""

    kind: ClassVar[str] = "drift"

    round: int
    changes: Mapping[str, Sequence[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Event):
    """Why a selector chose whom it chose.

    Parameters
    ----------
    name
        The selector's name for it, such as ``split`` or ``drawn``.
    round
        When.
    details
        What the selector says, as JSON values.
    """

    kind: ClassVar[str] = "decision"

    name: str
    round: int
    details: Mapping[str, Any]  # Any: what JSON can hold


class SplitClient(NamedTuple):
    """A client of a split: its id, the number it is sorted by, and its training examples."""

    id: str
    value: float
    num_examples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(InIteration, Event):
    """Terraform's decision: where a cohort is split. Terraform itself writes a `Decision`.

    Parameters
    ----------
    measure
        What the clients are sorted by, such as ``update_norm``.
    clients
        The cohort, sorted.
    k_q1, k_q3, tau
        Number of clients before the first and the third quartile, and before the split.
    hard
        The clients after the split.
    signal
        The selector's name for the measure; empty in old journals.
    empty_range
        Whether there was no possible split between the quartiles.
    """

    kind: ClassVar[str] = "split"

    measure: str
    clients: Sequence[SplitClient]
    k_q1: int
    k_q3: int
    tau: int
    hard: Sequence[str]
    signal: str = ""
    empty_range: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort(InIteration, Event):
    """The clients that train next; ``draws`` where one was drawn more than once."""

    kind: ClassVar[str] = "cohort"

    clients: Sequence[str]
    draws: Sequence[int] = ()
    weights: Sequence[float] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates(InIteration, Event):
    """How far each client moved the final layer; ``None`` where no final layer is known."""

    kind: ClassVar[str] = "updates"

    clients: Sequence[str]
    update_norm: Sequence[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(InIteration, Event):
    """A client whose update was not used, and why."""

    kind: ClassVar[str] = "refused"

    client: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded(InIteration, Event):
    """What the guard did to a client's update, and why."""

    kind: ClassVar[str] = "guard"

    client: str
    action: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged(InIteration, Event):
    """The weights of the mean, where a guard or an attack may have changed them."""

    kind: ClassVar[str] = "averaged"

    clients: Sequence[str]
    weights: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAggregated(InIteration, Event):
    """An iteration that left the global model as it was, and why."""

    kind: ClassVar[str] = "not aggregated"

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What a run has spent so far; see :class:`terrafl.runs.Summary`."""

    client_updates: int = 0
    samples_trained: int = 0
    loss_queries: int = 0
    samples_queried: int = 0
    bytes_down: int = 0
    bytes_up: int = 0
    reports_refused: int = 0
    samples_forwarded: int = 0

    def __add__(self, other: "Costs") -> "Costs":
        """Return the sum of both."""
        return Costs(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Event):
    """The global model on the test data, and the costs so far.

    ``accuracy`` is the task's score; ``metric`` is its name. ``readouts`` has the score of every
    model that was evaluated, by name, where there was more than one.
    """

    kind: ClassVar[str] = "evaluation"

    round: int
    accuracy: float
    accuracy_participating: float
    loss: float | None
    costs: Costs = field(metadata={"flat": True})
    metric: str = "accuracy"
    readouts: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness(Event):
    """For each client the test examples and those that the final model gets right.

    A task without right answers has ``score`` in place of ``correct``: the score of each client,
    ``None`` where it is undefined. ``tested`` and ``correct`` are ``None`` on a server that
    evaluates without the clients' labels. All are left out beyond 10,000 clients.
    """

    kind: ClassVar[str] = "fairness"

    round: int
    tested: Sequence[int] | None = ()
    correct: Sequence[int] | None = ()
    score: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionTime(InIteration, Event):
    """Timings: seconds that the selector took."""

    kind: ClassVar[str] = "selection"

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationTime(InIteration, Event):
    """Timings: seconds of an iteration's training, in all and per client."""

    kind: ClassVar[str] = "iteration"

    train_s: float
    clients_s: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationTime(Event):
    """Timings: seconds of an evaluation."""

    kind: ClassVar[str] = "evaluation"

    round: int
    seconds: float


def decision(round: int, why: Mapping[str, Any]) -> Decision:  # Any: what JSON can hold
    """Return the event of a selector's reasons; ``event`` in them names it."""
    details = {key: value for key, value in why.items() if key not in ("event", "round")}
    return Decision(name=str(why.get("event", Decision.kind)), round=round, details=details)


def to_plain(event: Event) -> Plain:
    """Return an event as JSON values, ``event`` first, then its fields in order.

    Examples
    --------
    >>> to_plain(Cohort(round=0, iteration=1, clients=["a"]))
    {'event': 'cohort', 'round': 0, 'iteration': 1, 'clients': ['a']}
    >>> to_plain(Decision(name="drawn", round=2, details={"phase": "warm-up"}))
    {'event': 'drawn', 'round': 2, 'phase': 'warm-up'}
    """
    if isinstance(event, Decision):
        return {"event": event.name, "round": event.round, **event.details}
    plain: Plain = {"event": event.kind}
    for item in fields(event):
        value = getattr(event, item.name)
        if item.metadata.get("flat"):
            plain |= {f.name: getattr(value, f.name) for f in fields(value)}
        elif not _is_default(value, item.default):
            plain[item.metadata.get("key", item.name)] = value
    return plain


def _is_default(value: object, default: object) -> bool:
    if default == () and isinstance(value, Sequence):
        return len(value) == 0
    return default is not MISSING and value == default
