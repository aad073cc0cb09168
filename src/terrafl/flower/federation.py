"""The federation on Flower: nodes that connect, disconnect, time out and may send anything.

What :mod:`terrafl.simulation.federation` is to simulated clients, this is to nodes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeGuard, cast

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid

from terrafl.errors import require
from terrafl.federation.protocol import (
    Answers,
    Evaluation,
    Gathering,
    Question,
    TrainingFacts,
    TrainRequest,
    TrainResult,
)
from terrafl.flower import reply_checks as checks
from terrafl.flower import wire
from terrafl.flower.exchange import exchange
from terrafl.flower.history import History
from terrafl.flower.model_arrays import ModelArrays, to_numpy, to_record
from terrafl.flower.roster import Roster
from terrafl.flower.subset import SubsetGrid, nodes_to_evaluate, taking_everybody, weight_key
from terrafl.records import Population, Refusal, Report, State, Update, Vector
from terrafl.runs import events
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.needs import collect, measure
from terrafl.selection.report import is_finite
from terrafl.settings import to_plain_named

if TYPE_CHECKING:
    from terrafl.flower.strategy import ClientSelection

_log = logging.getLogger(__name__)

Evaluate = Callable[[int, ArrayRecord], MetricRecord | None]


@dataclass(slots=True, kw_only=True, eq=False)
class FlowerFederation:
    """Nodes behind a grid; a strategy writes the messages to them.

    Parameters
    ----------
    grid
        Where the nodes are.
    settings
        Whose strategy writes the messages, and how long clients are waited for.
    model, history
        The global model and the metrics, shared with the algorithm.
    timeout_s
        Longest wait for replies.
    train_config, evaluate_config
        What is sent with every request.
    evaluate_fn
        Evaluates the model on the server, if given.
    """

    clients_keep_model: ClassVar[bool] = False  # every message carries the model
    uploads_on_demand: ClassVar[bool] = False  # and so does every reply to a training request

    grid: Grid
    settings: ClientSelection
    model: ModelArrays
    history: History
    timeout_s: float
    train_config: ConfigRecord
    evaluate_config: ConfigRecord
    evaluate_fn: Evaluate | None
    roster: Roster = field(init=False)
    _round: int = field(default=0, init=False)
    _has_waited: bool = field(default=False, init=False)
    _evaluated: int = field(default=0, init=False)  # the round of the newest evaluation

    def __post_init__(self) -> None:
        self.roster = Roster(self.settings.identity)

    @property
    def population(self) -> Population:
        """Everybody heard of."""
        return self.roster.population()

    @property
    def final_layer(self) -> FinalLayer | None:
        """Where the final layer lies, if it was found."""
        return self.model.layout.final_layer

    @property
    def training_facts(self) -> TrainingFacts:
        """Clients train by their own code."""
        return TrainingFacts(num_parameters=self.model.layout.num_parameters)

    @property
    def model_bytes(self) -> int:
        """Size of the arrays."""
        return self.model.num_bytes

    def describe(self) -> Sequence[events.Event]:
        """Describe the clients that have connected; a server does not see labels."""
        return [self.roster.describe()]

    def gather(self, round: int, waiting_for: Collection[str]) -> Gathering:
        """Wait for clients: at first for as many as are wanted, later for one."""
        self._round = round

        def enough(there: Collection[str]) -> bool:
            if self._has_waited:
                return len(there) >= 1
            if waiting_for:
                return set(waiting_for) <= set(there)
            return len(there) >= self.settings.clients_per_round

        refused = self.roster.wait(
            self.grid, enough, wait_s=self.settings.wait_s, answer_s=self.timeout_s
        )
        self._has_waited = True
        late, online = self.roster.late(self.grid), self.roster.online(self.grid)
        available = self.roster.available(self.population, online, round)
        return Gathering(available, [*refused, *late])

    def train(self, request: TrainRequest) -> Sequence[TrainResult]:
        """Send requests to the nodes of a cohort; check every reply alone."""
        online = self.roster.online(self.grid)
        nodes = {client: online[client] for client in request.clients if client in online}
        record = self.model.record_of(request.model)
        messages = self._requests(request, record, nodes)
        arrivals, owing = exchange(self.grid, messages, self.timeout_s)
        self.roster.owe(owing, request.round)
        sent, key = to_numpy(record), weight_key(self.settings.strategy)
        replies: dict[str, checks.Reply] = {}
        faults = {c: "the client is not connected" for c in request.clients if c not in nodes}
        for client, node in nodes.items():
            if node not in arrivals:
                faults[client] = f"no reply within {self.timeout_s:g} s"
                continue
            message = arrivals[node].message
            reply = checks.checked_reply(message, node_id=node, sent=sent, weight_key=key)
            if isinstance(reply, checks.Reply):
                replies[client] = reply
            else:
                faults[client] = reply
        sizes = {client: reply.num_examples for client, reply in replies.items()}
        faults |= checks.too_large(sizes, self.roster.known_sizes())
        faults |= checks.odd_metrics({c: r.metrics for c, r in replies.items() if c not in faults})
        if self.settings.algorithm is not None and self.settings.algorithm.needs_steps:
            faults |= checks.odd_steps(
                {c: r.metrics for c, r in replies.items() if c not in faults}
            )
        results: list[TrainResult] = []
        for client in request.clients:
            if client in faults:
                known = self.settings.epochs * self.roster.sizes.get(client, 0)
                started = client in nodes
                samples = known if started else 0
                results.append(Refusal(client, faults[client], started=started, samples=samples))
            else:
                seconds = arrivals[nodes[client]].seconds
                results.append(self._update(client, replies[client], seconds, request))
        accepted = [result.report for result in results if isinstance(result, Update)]
        self.roster.sizes |= {report.client_id: report.num_examples for report in accepted}
        return results

    def _requests(
        self, request: TrainRequest, record: ArrayRecord, nodes: Mapping[str, int]
    ) -> Sequence[Message]:
        """Let the strategy write the messages to these nodes, and to all of them."""
        if not nodes:
            return []
        config = self.train_config.copy()
        config[wire.ROUND], config[wire.ITERATION] = request.round, request.iteration
        grid = cast("Grid", SubsetGrid(self.grid, nodes.values()))
        algorithm = self.settings.algorithm
        if algorithm is not None:
            config[wire.ALGORITHM] = json.dumps(to_plain_named(algorithm))
        with taking_everybody(self.settings.strategy):
            step = request.step + 1
            messages = self.settings.strategy.configure_train(step, record.copy(), config, grid)
        if not request.shared and not any(request.given.values()):
            return list(messages)
        return [self._with_vectors(message, request, nodes) for message in messages]

    def _with_vectors(
        self, message: Message, request: TrainRequest, nodes: Mapping[str, int]
    ) -> Message:
        """Add the algorithm's vectors to a request, as arrays of the model's names and shapes."""
        client = next(c for c, node in nodes.items() if node == message.metadata.dst_node_id)
        given, like = request.given.get(client, {}), to_numpy(self.model.record)
        named = {wire.SHARED + name: vector for name, vector in request.shared.items()}
        named |= {wire.GIVEN + name: vector for name, vector in given.items()}
        records = {k: to_record(self.model.layout.arrays(v, like)) for k, v in named.items()}
        # A strategy may have given all messages one content.
        message.content = RecordDict({**message.content, **records})
        return message

    def _update(
        self, client: str, reply: checks.Reply, seconds: float, request: TrainRequest
    ) -> Update:
        vector = self.model.layout.vector(reply.arrays)
        report = Report(
            client_id=client,
            round=request.round,
            iteration=request.iteration,
            num_examples=reply.num_examples,
        )
        return Update(
            report=collect(
                report,
                request.needs,
                measured=measure(request.needs, vector, request.model, self.final_layer),
                told=lambda measurement: reply.metrics.get(measurement.metric),
                seconds=seconds,
            ),
            vector=vector,
            steps=int(checks.positive(reply.metrics.get(wire.STEPS))),
            step_sum=checks.positive(reply.metrics.get(wire.STEP_SUM)),
            samples=self.settings.epochs * reply.num_examples,
            duration_s=seconds,
            metrics=reply.metrics,
            source=reply,
        )

    def ask(self, question: Question) -> Answers:
        """Ask clients about a model; NaN for one that does not answer."""
        nodes = self.roster.online(self.grid)
        sizes, seed = self.roster.sizes, self.settings.seed
        rows = {c: question.rows(c, sizes[c], seed) for c in question.clients if c in nodes}
        record = self.model.record_of(question.model)
        what = question.what
        messages = [wire.model_question(nodes[c], what, record, rows[c]) for c in rows]
        arrivals, _ = exchange(self.grid, messages, self.timeout_s)
        answers = {node: wire.answer_in(message, what) for node, (message, _) in arrivals.items()}
        values = [answers.get(nodes.get(client, -1), np.nan) for client in question.clients]
        samples = sum(sizes[c] if chosen is None else len(chosen) for c, chosen in rows.items())
        return Answers(np.array(values, dtype=np.float64), list(rows), samples)

    def evaluate(self, model: Vector, participants: Sequence[str]) -> Evaluation | None:
        """Let the strategy's nodes evaluate, then the server; the server's word counts."""
        number, record = self._round + 1, self.model.record_of(model)
        if number == self._evaluated:  # a further read-out, which the history does not list
            central = self.evaluate_fn(number, record) if self.evaluate_fn else None
            federated = None if self.evaluate_fn else self._evaluate_on_nodes(number, record)
        else:
            self._evaluated = number
            if number not in self.history.evaluate:
                averaged = self._evaluate_on_nodes(number, record)
                if averaged is not None:
                    self.history.evaluate[number] = averaged
            federated = self.history.evaluate.get(number)
            central = self.evaluate_centrally(number, record)
        metrics = central if self.evaluate_fn else federated
        accuracy = metrics.get(self.settings.accuracy_key) if metrics is not None else None
        if metrics is None or not _is_score(accuracy):
            return None
        own = federated.get(self.settings.accuracy_key) if federated is not None else None
        loss = metrics.get("loss")
        return Evaluation(
            score=float(accuracy),
            score_participating=float(own) if _is_score(own) else float(accuracy),
            loss=float(loss) if is_finite(loss) else None,
        )

    def evaluate_centrally(self, number: int, record: ArrayRecord) -> MetricRecord | None:
        """Return what ``evaluate_fn`` says of a model; a result that is known is not repeated."""
        if number not in self.history.central and self.evaluate_fn is not None:
            metrics = self.evaluate_fn(number, record)
            _log.info("evaluation on the server: %s", metrics)
            if metrics is not None:
                accuracy = metrics.get(self.settings.accuracy_key)
                possible = not is_finite(accuracy) or _is_score(accuracy)
                require(possible, self.settings.accuracy_key, accuracy, "a fraction of at most 1")
                self.history.central[number] = metrics
        return self.history.central.get(number)

    def _evaluate_on_nodes(self, number: int, record: ArrayRecord) -> MetricRecord | None:
        """Let the strategy evaluate, unless it would wait for nodes that are not there."""
        nodes = list(self.grid.get_node_ids())
        wanted = nodes_to_evaluate(self.settings.strategy, len(nodes))
        if len(nodes) < wanted:
            _log.warning("evaluation needs %d nodes and is left out: %d", wanted, len(nodes))
            return None
        grid = cast("Grid", SubsetGrid(self.grid, nodes))
        messages = self.settings.strategy.configure_evaluate(
            number, record, self.evaluate_config, grid
        )
        arrivals, _ = exchange(self.grid, messages, self.timeout_s)
        # Sums depend on their order in the last digits, and Flower draws nodes at random.
        replies = {self.roster.name(node): arrival.message for node, arrival in arrivals.items()}
        metrics = {name: checks.metrics_of(replies[name]) for name in sorted(replies)}
        valid = {name: m for name, m in metrics.items() if not isinstance(m, str)}
        odd = checks.odd_metrics(valid)
        return self.settings.strategy.aggregate_evaluate(
            number, [replies[name] for name in valid if name not in odd]
        )

    def state(self) -> State:
        """Return the sizes that are known and the metrics so far."""
        return {"sizes": dict(self.roster.sizes), "history": self.history.to_plain()}

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        self.roster.sizes |= state["sizes"]  # type: ignore[arg-type]  # as stored
        self.history.restore(state["history"])  # type: ignore[arg-type]  # as stored


def _is_score(value: object) -> TypeGuard[int | float]:
    return is_finite(value) and value <= 1
