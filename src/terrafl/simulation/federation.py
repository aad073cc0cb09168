"""The simulated federation: clients on this machine, trained by an executor."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.data import FederatedData, Holdings, Ragged
from terrafl.federation.protocol import (
    Answers,
    Evaluation,
    Gathering,
    Question,
    TrainingFacts,
    TrainRequest,
    TrainResult,
)
from terrafl.records import Population, Refusal, Report, State, Update, Vector
from terrafl.runs import events
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.needs import collect, measure
from terrafl.simulation.executor import Executor
from terrafl.simulation.job import Trained, TrainTask, Work
from terrafl.simulation.local_training import LocalTraining
from terrafl.tasks import LOWEST_SCORE, Classification, Task, score_of

MOST_LISTED = 10_000
"""Clients are listed one by one in the journal up to this many: its cost follows the cohort."""

_OF_LABELS = ("mean_classes", "mean_distance", "distances", "labels")


@dataclass(slots=True, kw_only=True, eq=False)
class SimulatedFederation:
    """Clients that an executor trains, in this process or in others.

    Parameters
    ----------
    data
        Who holds what.
    executor
        Trains, answers and evaluates.
    training
        How a client trains.
    seed
        Of every random stream.
    task
        Makes scores of the statistics that the executor returns.
    """

    clients_keep_model: ClassVar[bool] = True  # a client that answered a question has the model
    uploads_on_demand: ClassVar[bool] = True  # a client uploads after it was kept

    data: FederatedData
    executor: Executor
    training: LocalTraining
    seed: int
    task: Task = field(default_factory=Classification)
    population: Population = field(init=False)
    final_layer: FinalLayer = field(init=False)

    def __post_init__(self) -> None:
        self.population = Population(self.data.client_ids, self.data.sizes)
        layout = self.executor.layout
        weight, bias = layout.final_weight, layout.final_bias
        self.final_layer = FinalLayer(weight, bias, bias.stop - bias.start)

    @property
    def training_facts(self) -> TrainingFacts:
        """How clients train."""
        training = self.training
        return TrainingFacts(
            num_parameters=self.executor.layout.num_parameters,
            optimizer=training.optimizer,
            momentum=training.momentum,
            weight_decay=training.weight_decay,
        )

    @property
    def model_bytes(self) -> int:
        """Four bytes for each number."""
        return 4 * self.executor.layout.size

    def describe(self) -> Sequence[events.Event]:
        """Describe all clients together, and each one unless there are many."""
        return [federation_event(self.data)]

    def gather(self, round: int, waiting_for: Collection[str]) -> Gathering:
        """Everybody is there."""
        return Gathering()

    def train(self, request: TrainRequest) -> Sequence[TrainResult]:
        """Train clients; a client whose training fails is refused."""
        positions = self.population.index(request.clients).tolist()
        rate = self.training.rate(request.round)
        tasks = [
            TrainTask(position, client, request.round, request.iteration, rate)
            for position, client in zip(positions, request.clients, strict=True)
        ]
        work = Work(
            received=request.model,
            tasks=tasks,
            shared=request.shared,
            given=[request.given.get(client, {}) for client in request.clients],
        )
        return [
            self._result(result, task, request)
            for result, task in zip(self.executor.train(work), tasks, strict=True)
        ]

    def _result(
        self, result: Trained | Refusal, task: TrainTask, request: TrainRequest
    ) -> TrainResult:
        size = int(self.population.sizes[task.client])
        samples = self.training.epochs * size
        if isinstance(result, Refusal):
            return Refusal(result.client_id, result.reason, samples=samples)
        report = Report(
            client_id=task.client_id,
            round=task.round,
            iteration=task.iteration,
            num_examples=size,
        )
        return Update(
            report=collect(
                report,
                request.needs,
                measured=measure(request.needs, result.vector, request.model, self.final_layer),
                told=lambda measurement: result.measurements.get(measurement.name),
                seconds=result.duration_s,
            ),
            vector=result.vector,
            steps=result.steps,
            step_sum=self.training.step_sum(result.steps, task.learning_rate),
            samples=samples,
            duration_s=result.duration_s,
        )

    def ask(self, question: Question) -> Answers:
        """Return the loss of a model on each client's training data, or on a sample of it."""
        tasks, samples = [], 0
        positions = self.population.index(question.clients).tolist()
        for position, client in zip(positions, question.clients, strict=True):
            size = int(self.population.sizes[position])
            rows = question.rows(client, size, self.seed)
            tasks.append((position, rows))
            samples += size if rows is None else len(rows)
        losses = np.array(self.executor.losses(question.model, tasks), dtype=np.float64)
        return Answers(losses, question.clients, samples)

    def evaluate(self, model: Vector, participants: Sequence[str]) -> Evaluation:
        """Evaluate a model on all test data, and on the participants' part of it."""
        statistics, losses = self.executor.evaluate(model)
        test = self.data.partition.test
        parts = [statistics[test[position]] for position in self.population.index(participants)]
        shares = [score for part in parts if (score := score_of(self.task, part)) is not None]
        score = score_of(self.task, statistics)
        score, loss = LOWEST_SCORE if score is None else score, float(losses.mean(dtype=np.float64))
        return Evaluation(
            score=score,
            score_participating=float(np.mean(shares)) if shares else score,
            loss=loss if np.isfinite(loss) else None,
            metric=self.task.metric,
            **by_client(self.task, statistics, test),  # type: ignore[arg-type]  # keyed by field
        )

    def state(self) -> State:
        """Nothing is remembered."""
        return {}

    def restore(self, state: State) -> None:
        """Take up nothing."""


def by_client(
    task: Task, statistics: NDArray[np.float64], test: Ragged
) -> dict[str, list[int] | list[float | None]]:
    """Return how well a model serves each client: its test examples, and those it gets right.

    Parameters
    ----------
    task
        What is learned.
    statistics
        The task's statistics of every test example, (n, S).
    test
        The test examples of every client.

    Returns
    -------
    dict
        ``tested``, and ``correct`` or, for a task that does not count correct answers, ``scores``
        (``None`` where it is undefined): one number per client in the order of client ids; empty
        beyond :data:`MOST_LISTED` clients.

    Examples
    --------
    >>> right = np.array([[1.0], [0.0], [1.0]])
    >>> by_client(Classification(), right, Ragged.of([[0, 1], [], [2]]))
    {'tested': [2, 0, 1], 'correct': [1, 0, 1]}
    """
    if len(test) > MOST_LISTED:
        return {"tested": [], "correct": []}
    tested = test.sizes().tolist()
    if "correct" not in task.statistics_names:
        scores = [score_of(task, statistics[test[client]]) for client in range(len(test))]
        return {"tested": tested, "correct": [], "scores": scores}
    right = statistics[test.indices, task.statistics_names.index("correct")]
    running = np.concatenate([[0], np.cumsum(right)]).astype(np.int64)
    return {
        "tested": tested,
        "correct": (running[test.offsets[1:]] - running[test.offsets[:-1]]).tolist(),
    }


def federation_event(data: FederatedData) -> events.Federation:
    """Return what the journal says of the clients, in its first line."""
    dataset, is_labelled = data.dataset, data.dataset.num_classes is not None
    labels = (
        dataset.labels("label skew").train if is_labelled else np.zeros(len(dataset.train), int)
    )
    partition, holdings = data.partition, Holdings.of(data.partition, labels)
    plain: dict[str, object] = {
        **holdings.summary(),
        "redraws": partition.redraws,
        "repaired": partition.repaired,
    }
    if len(data.client_ids) <= MOST_LISTED:
        plain |= {"ids": data.client_ids.tolist(), **holdings.to_dict()}
    if not is_labelled:
        plain |= {key: None for key in _OF_LABELS if key in plain}
    return events.Federation(**plain, schema=events.SCHEMA)  # type: ignore[arg-type]  # keyed by field
