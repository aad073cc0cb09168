"""The records that all rooms exchange: reports, updates, refusals and cohorts. numpy only."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require

Vector = NDArray[np.float32]
"""A model: parameters first, then buffers such as a batch norm's running statistics."""

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
"""Where clients stand in a population."""

Measured = float | NDArray[np.floating]
"""The value of a measurement in a report."""

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"

State: TypeAlias = Mapping[str, "Json | NDArray[np.generic]"]
"""What must survive a restart: JSON values and numeric arrays under plain names."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """All clients that could ever be drawn: two arrays, however many clients there are.

    Parameters
    ----------
    ids
        Distinct client ids in string order.
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
    def of(cls, sizes: Mapping[str, int]) -> Self:
        """Build a population from a mapping of client ids to sizes."""
        ids = sorted(sizes)
        return cls(np.array(ids, dtype=np.str_), np.array([sizes[i] for i in ids], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def index(self, client_ids: Sequence[str]) -> NDArray[np.intp]:
        """Return the positions of these clients; every one must be known."""
        wanted = np.asarray(client_ids, dtype=np.str_)
        positions = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        unknown = wanted[self.ids[positions] != wanted]
        require(unknown.size == 0, "client ids", unknown[:3].tolist(), "members of the population")
        return positions

    def names(self, positions: Iterable[int] | NDArray[np.integer]) -> tuple[str, ...]:
        """Return the ids at these positions."""
        return tuple(self.ids[np.asarray(positions, dtype=np.intp)].tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    r"""What one client says about one local training.

    Updates are differences of the final layer's parameters, $\theta^k - \theta$; norms are
    Euclidean. A field that the selector did not ask for is ``None``.

    Parameters
    ----------
    client_id
        The client, $k$.
    round, iteration
        The request that this report answers, both counted from 0.
    num_examples
        Size of the client's training set, $|D^k_{train}|$.
    update_norm
        Norm of the update of the final layer, weight and bias together, $|\Delta w^k|$.
    weight_norm, bias_norm
        Norm of the update of the final layer's weight alone, and of its bias alone.
    weight_update, bias_update
        The update of the final layer's weight (classes x features) and bias (classes).
    loss
        Mean training loss over the examples seen in local training.
    squared_loss
        Mean of the squared per-example training loss over the examples seen.
    duration_s
        Seconds that the client took.
    extra
        Measurements that a user registered (:mod:`terrafl.selection.needs`), by name.

    Examples
    --------
    >>> report = Report(client_id="a", round=0, iteration=0, num_examples=9, loss=0.5)
    >>> report = report.with_values({"cubed_loss": 0.25})
    >>> report.value("loss"), report.value("cubed_loss"), report.value("update_norm")
    (0.5, 0.25, None)
    """

    client_id: str
    round: int
    iteration: int
    num_examples: int
    update_norm: float | None = None
    weight_norm: float | None = None
    bias_norm: float | None = None
    weight_update: NDArray[np.floating] | None = None
    bias_update: NDArray[np.floating] | None = None
    loss: float | None = None
    squared_loss: float | None = None
    duration_s: float | None = None
    extra: Mapping[str, Measured | None] = field(default_factory=dict)

    def value(self, name: str) -> Measured | None:
        """Return a measurement by name; ``None`` if the report does not carry it."""
        if name in MEASURED_FIELDS:
            value: Measured | None = getattr(self, name)
            return value
        return self.extra.get(name)

    def with_values(self, values: Mapping[str, Measured | None]) -> Self:
        """Return this report with these measurements."""
        own = {name: value for name, value in values.items() if name in MEASURED_FIELDS}
        extra = {name: value for name, value in values.items() if name not in MEASURED_FIELDS}
        return replace(self, **own, extra={**self.extra, **extra})  # type: ignore[arg-type]  # by field


MEASURED_FIELDS: Final = frozenset(f.name for f in fields(Report)) - {
    "client_id",
    "round",
    "iteration",
    "num_examples",
    "extra",
}
"""The measurements that are attributes of a report."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Update:
    r"""One local training that came back.

    Parameters
    ----------
    report
        What the client says about it.
    vector
        The client's model, $\theta^k$; valid until the next training is asked for.
    steps
        Optimiser steps taken; 0 where the server cannot know.
    step_sum
        Learning rate times the sum of the coefficients with which gradients entered the model;
        0 where it cannot be known.
    samples
        Examples processed, every epoch counted.
    duration_s
        Seconds that it took.
    draws
        How often the client was drawn.
    weight
        Its weight in the mean, before normalisation.
    heard
        Whether the selector sees the report. The model counts in the mean either way.
    metrics
        Further numbers that the client sent.
    source
        The message it came with; only the federation and its algorithm read it.
    """

    report: Report
    vector: Vector
    steps: int = 0
    step_sum: float = 0.0
    samples: int = 0
    duration_s: float = 0.0
    draws: int = 1
    weight: float = 1.0
    heard: bool = True
    metrics: Mapping[str, int | float | list[int] | list[float]] = field(default_factory=dict)
    source: object | None = None

    @property
    def client_id(self) -> str:
        """The client, $k$."""
        return self.report.client_id


class ClientVectors(Protocol):
    """Vectors per client, created on first use: the client state of an algorithm."""

    def __contains__(self, client_id: object, /) -> bool:
        """Return whether a client has vectors."""
        ...

    def get(self, client_id: str) -> Mapping[str, Vector]:
        """Return a client's vectors by name; zeros for a client that has none yet."""
        ...

    def put(self, client_id: str, vectors: Mapping[str, Vector]) -> None:
        """Replace a client's vectors."""
        ...

    def state(self) -> State:
        """Return what must survive a restart."""
        ...

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """A client whose update is not used, and why.

    Parameters
    ----------
    client_id
        The client.
    reason
        One sentence.
    started
        Whether it began to train: its work then counts as a cost.
    samples
        Examples processed for nothing.
    """

    client_id: str
    reason: str
    started: bool = True
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Cohort:
    r"""Who trains next, and why.

    Parameters
    ----------
    clients
        Distinct client ids in string order; empty when the round is over.
    draws
        How often each was drawn. A client drawn twice trains once and weighs twice.
    why
        The decision, as one journal event (``{"event": "split", ...}``); may be empty.
    weights
        Given weights $w_k$, one per client; empty: the selector's ``averaging``. With them the
        mean is $\theta + \sum_k w_k (\theta^k - \theta)$.
    """

    clients: tuple[str, ...] = ()
    draws: tuple[int, ...] = ()
    why: Mapping[str, Json] = field(default_factory=dict)
    weights: tuple[float, ...] = ()

    @classmethod
    def of(cls, client_ids: Iterable[str], why: Mapping[str, Json] | None = None) -> Self:
        """Collect ids, repeated ones counted, in string order.

        Examples
        --------
        >>> Cohort.of(["b", "a", "b"])
        Cohort(clients=('a', 'b'), draws=(1, 2), why={}, weights=())
        """
        counts = Counter(client_ids)
        clients = tuple(sorted(counts))
        return cls(clients, tuple(counts[c] for c in clients), why or {})

    @classmethod
    def weighted(cls, weights: Mapping[str, float], why: Mapping[str, Json] | None = None) -> Self:
        """Collect clients with given weights, in string order.

        Examples
        --------
        >>> Cohort.weighted({"b": 0.5, "a": 1.5}).weights
        (1.5, 0.5)
        """
        clients = tuple(sorted(weights))
        given = tuple(float(weights[c]) for c in clients)
        return cls(clients, (1,) * len(clients), why or {}, given)

    def __len__(self) -> int:
        return len(self.clients)
