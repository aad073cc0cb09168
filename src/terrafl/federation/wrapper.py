"""A federation around another one: what it does not change, it hands through."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from terrafl.federation.protocol import (
    Answers,
    Evaluation,
    Federation,
    Gathering,
    Question,
    TrainingFacts,
    TrainRequest,
    TrainResult,
)
from terrafl.records import State, Vector
from terrafl.runs import events
from terrafl.selection import Population
from terrafl.selection.final_layer import FinalLayer


@dataclass(slots=True, eq=False)
class FederationWrapper:
    """Hands every call to the federation inside; subclasses override what they change.

    Parameters
    ----------
    inner
        The federation inside.
    """

    inner: Federation

    @property
    def training_facts(self) -> TrainingFacts:
        """How clients train."""
        return self.inner.training_facts

    @property
    def population(self) -> Population:
        """All clients known."""
        return self.inner.population

    @property
    def final_layer(self) -> FinalLayer | None:
        """Where the final layer lies in a model."""
        return self.inner.final_layer

    @property
    def model_bytes(self) -> int:
        """Size of a model on the wire."""
        return self.inner.model_bytes

    @property
    def clients_keep_model(self) -> bool:
        """Whether a client that was asked about a model need not receive it again."""
        return self.inner.clients_keep_model

    @property
    def uploads_on_demand(self) -> bool:
        """Whether a client that has trained sends its model only if it is kept."""
        return self.inner.uploads_on_demand

    def describe(self) -> Sequence[events.Event]:
        """Return the journal's first events."""
        return self.inner.describe()

    def gather(self, round: int, waiting_for: Collection[str]) -> Gathering:
        """Wait until enough clients can be reached."""
        return self.inner.gather(round, waiting_for)

    def train(self, request: TrainRequest) -> Sequence[TrainResult]:
        """Train clients."""
        return self.inner.train(request)

    def ask(self, question: Question) -> Answers:
        """Ask clients a question."""
        return self.inner.ask(question)

    def evaluate(self, model: Vector, participants: Sequence[str]) -> Evaluation | None:
        """Evaluate a model."""
        return self.inner.evaluate(model, participants)

    def state(self) -> State:
        """Return what must survive a restart."""
        return self.inner.state()

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        self.inner.restore(state)
