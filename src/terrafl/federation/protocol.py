"""The interface of a federation: clients that train, answer questions and evaluate.

A simulation and a deployment differ in their federation and in nothing else.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require
from terrafl.records import Refusal, State, Update, Vector
from terrafl.runs import events
from terrafl.seeds import stream
from terrafl.selection import Population
from terrafl.selection.final_layer import FinalLayer

TrainResult = Update | Refusal

QUESTIONS: Mapping[str, str] = {
    "loss": "the mean loss of the model on the client's training data",
}
"""What clients can be asked before they are chosen; every federation answers all of them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainRequest:
    r"""Train these clients from this model.

    Parameters
    ----------
    round, iteration
        When, both counted from 0.
    step
        Aggregations so far, over all rounds.
    clients
        Who, in string order.
    model
        The global model that they receive, $\theta_{r,t}$.
    needs
        What their reports must carry.
    shared
        Vectors that every client receives with the model, by name.
    given
        Vectors that each client receives, by client and name.
    """

    round: int
    iteration: int
    step: int
    clients: tuple[str, ...]
    model: Vector
    needs: Collection[str]
    shared: Mapping[str, Vector] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Vector]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """Ask clients for a number before they are chosen.

    Parameters
    ----------
    round
        When.
    clients
        Who.
    model
        The global model.
    what
        One of :data:`QUESTIONS`.
    sample_size
        Evaluate one random mini-batch of that many examples; ``None``: all of them.
    """

    round: int
    clients: Sequence[str]
    model: Vector
    what: str
    sample_size: int | None = None

    def __post_init__(self) -> None:
        require(self.what in QUESTIONS, "what", self.what, f"one of {', '.join(QUESTIONS)}")

    def rows(self, client: str, size: int, seed: int) -> list[int] | None:
        """Draw the examples of a client with ``size`` of them to ask about; ``None``: all."""
        if self.sample_size is None or self.sample_size >= size:
            return None
        draw = stream(seed, "loss", round=self.round, client=client)
        rows: list[int] = draw.choice(size, size=self.sample_size, replace=False).tolist()
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """One answer per client of the question (NaN for no answer), and what the answers cost.

    Parameters
    ----------
    values
        One number, or one row of numbers, per client.
    asked
        Clients that the question reached.
    samples
        Examples that they evaluated.
    """

    values: NDArray[np.float64]
    asked: Sequence[str]
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A model on the test data.

    Parameters
    ----------
    score
        On all test data.
    score_participating
        Mean score over the participating clients' own test data.
    loss
        Mean loss on all test data; ``None`` where it is not finite or not known.
    tested, correct
        Per client, in order of ids, the number of test examples and of right answers; ``None``
        where the server cannot know, empty where there are too many clients to list.
    scores
        Per client, its score (``None`` where undefined), for a task without right answers.
    metric
        The name of the score.
    """

    score: float
    score_participating: float
    loss: float | None
    tested: Sequence[int] | None = None
    correct: Sequence[int] | None = None
    scores: Sequence[float | None] = ()
    metric: str = "accuracy"


@dataclass(frozen=True, slots=True)
class Gathering:
    """Who can be reached, and whose late or invalid messages were dropped meanwhile.

    Parameters
    ----------
    available
        One flag per client of the population; ``None`` is everybody.
    refusals
        What was dropped.
    """

    available: NDArray[np.bool_] | None = None
    refusals: Sequence[Refusal] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFacts:
    """How clients train; ``None`` where the server cannot know.

    Parameters
    ----------
    num_parameters
        Elements of a model that are trained; the others are buffers.
    optimizer, momentum, weight_decay
        The clients' optimiser.
    """

    num_parameters: int
    optimizer: str | None = None
    momentum: float | None = None
    weight_decay: float | None = None


class Federation(Protocol):
    """Clients that train, answer and evaluate."""

    @property
    def training_facts(self) -> TrainingFacts:
        """How clients train, as far as it is known."""
        ...

    @property
    def population(self) -> Population:
        """All clients known; it may grow from one :meth:`gather` to the next."""
        ...

    @property
    def final_layer(self) -> FinalLayer | None:
        """Where the final layer lies in a model; ``None`` where it is not known."""
        ...

    @property
    def model_bytes(self) -> int:
        """Size of a model on the wire."""
        ...

    @property
    def clients_keep_model(self) -> bool:
        """Whether a client that was asked about a model need not receive it again to train."""
        ...

    @property
    def uploads_on_demand(self) -> bool:
        """Whether a client that has trained sends its model only if it is kept."""
        ...

    def describe(self) -> Sequence[events.Event]:
        """Return the journal's first events, after the first :meth:`gather`."""
        ...

    def gather(self, round: int, waiting_for: Collection[str]) -> Gathering:
        """Wait until enough clients can be reached.

        Parameters
        ----------
        round
            The current round.
        waiting_for
            The cohort of a round that was interrupted; empty before a round's first draw, and
            where only the evaluation of the round remains.
        """
        ...

    def train(self, request: TrainRequest) -> Sequence[TrainResult]:
        """Train clients; return one result per client, in client order."""
        ...

    def ask(self, question: Question) -> Answers:
        """Ask clients a question."""
        ...

    def evaluate(self, model: Vector, participants: Sequence[str]) -> Evaluation | None:
        """Evaluate a model; ``None`` where no score is returned."""
        ...

    def state(self) -> State:
        """Return what must survive a restart."""
        ...

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        ...
