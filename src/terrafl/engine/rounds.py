"""The round loop: Algorithm 1 around any selector and any algorithm.

References
----------
Balivada et al., "Heterogeneity-Aware Client Selection Methodology For Efficient Federated
Learning", Algorithm 1; line numbers below are its.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import Aggregation, Algorithm, LocalModel
from terrafl.attacks import Attackers
from terrafl.data import FederatedData
from terrafl.engine.border import Border, Crossed, final_layer_of
from terrafl.engine.fairness import by_client
from terrafl.engine.job import TrainTask
from terrafl.engine.record import Record
from terrafl.engine.report import updates_event
from terrafl.engine.state import RunState
from terrafl.engine.training import LocalTraining
from terrafl.engine.workers import Workers
from terrafl.guard import Guard
from terrafl.runs.summary import Point
from terrafl.seeds import stream
from terrafl.selection import Cohort, Context, Population, Refusal, Report, Selector

__all__ = ["Plan", "Rounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many rounds, how wide, how often evaluated.

    Parameters
    ----------
    num_rounds
        Rounds to run, $R$.
    clients_per_round
        Clients wanted at the start of a round, $K$.
    seed
        Of every random stream.
    training
        What a client does.
    eval_every
        Rounds between evaluations; the last round is always evaluated.
    patience
        Stop after this many evaluations in a row without a new best; ``None``: never.
    """

    num_rounds: int
    clients_per_round: int
    seed: int
    training: LocalTraining
    eval_every: int = 1
    patience: int | None = None


@dataclass(slots=True, kw_only=True)
class Rounds:
    """One run, from wherever its state stands."""

    plan: Plan
    data: FederatedData
    selector: Selector
    algorithm: Algorithm
    workers: Workers
    record: Record
    state: RunState
    guard: Guard | None = None
    aggregation: Aggregation | None = None
    attackers: Attackers | None = None
    on_round: Callable[[RunState], None] = lambda state: None
    population: Population = field(init=False)
    _border: Border = field(init=False)
    _holders: set[str] = field(default_factory=set, init=False)  # who has the current model

    def __post_init__(self) -> None:
        self.population = Population(self.data.client_ids, self.data.sizes)
        final_layer = final_layer_of(self.workers.layout)
        self._border = Border(self.selector, final_layer, self.attackers)

    def run(self) -> None:
        """Run the rounds that remain."""
        while self.state.round < self.plan.num_rounds and not self.is_saturated:  # line 4
            self.run_round()
            self.on_round(self.state)

    def run_round(self) -> None:
        """Run one round, or what remains of one."""
        state = self.state
        if state.cohort is None:
            state.open_round(self._chosen(lambda: self.selector.draw(self._context())))  # lines 5-6
        while state.cohort:  # line 7
            models, reports = self._train(state.cohort)  # line 8
            self._aggregate(models)
            self._holders.clear()
            state.close_iteration(self._chosen(partial(self.selector.refine, reports)))  # 9-15
            self._checkpoint()
        if self._is_due():
            self._evaluate()
        state.close_round()  # line 17
        self._checkpoint()

    @property
    def selector_keeps_models(self) -> bool:
        """Whether models of a round's earlier iterations stay in the average.

        An optional attribute of selectors: without it, they do not.
        """
        return bool(getattr(self.selector, "anchor", False))

    @property
    def is_saturated(self) -> bool:
        """Whether accuracy has stopped improving for longer than patience allows."""
        patience = self.plan.patience
        return patience is not None and self.state.evaluations_without_improvement() >= patience

    def _context(self) -> Context:
        return Context(
            round=self.state.round,
            num_rounds=self.plan.num_rounds,
            clients_per_round=self.plan.clients_per_round,
            population=self.population,
            generator=stream(self.plan.seed, "selection", round=self.state.round),
            losses=self._losses,
        )

    def _chosen(self, choose: Callable[[], Cohort]) -> Cohort:
        """Ask the selector; write down whom it chose, why, and how long that took."""
        state, started = self.state, time.perf_counter()
        cohort = choose()
        opening = state.cohort is None
        iteration = 0 if opening else state.iteration + 1
        seconds = round(time.perf_counter() - started, 6)
        key = {"round": state.round, "iteration": iteration}
        self.record.time({"event": "selection", **key, "seconds": seconds})
        if cohort.why:
            self.record.note({"event": "decision", "round": state.round, **cohort.why})
        if cohort:
            drawn_twice = any(draws > 1 for draws in cohort.draws)
            draws = {"draws": cohort.draws} if drawn_twice else {}
            self.record.note({"event": "cohort", **key, "clients": cohort.clients} | draws)
        return cohort

    def _train(self, cohort: Cohort) -> tuple[list[LocalModel], Sequence[Report]]:
        """Train a cohort; return the models and reports that passed the border."""
        state, started = self.state, time.perf_counter()
        positions = self.population.index(cohort.clients)
        rate = self.plan.training.rate(state.round)
        tasks = [
            TrainTask(int(p), client, state.round, state.iteration, rate)
            for p, client in zip(positions, cohort.clients, strict=True)
        ]
        trained = self.workers.train(state.model, tasks)
        seconds = time.perf_counter() - started
        sizes = self.population.sizes[positions].tolist()
        self._count_training(cohort.clients, sizes)
        crossed = self._border.cross(state.model, cohort, tasks, trained, sizes)
        self._refuse(crossed.refusals)
        self.record.time(
            {
                "event": "iteration",
                "round": state.round,
                "iteration": state.iteration,
                "train_s": round(seconds, 6),
                "clients_s": [round(t.duration_s, 6) for t in trained],
            }
        )
        if crossed.models and "update_norm" not in self.selector.needs:  # else it says so itself
            final_layer = self._border.final_layer
            moved = updates_event(tasks[0], crossed.models, state.model, final_layer)
            self.record.note(moved)
        return self._guarded(crossed)

    def _guarded(self, crossed: Crossed) -> tuple[list[LocalModel], Sequence[Report]]:
        """Let the guard look at what passed the border, if there is one."""
        if self.guard is None or not crossed.reports:
            return crossed.models, crossed.reports
        names = [report.client_id for report in crossed.reports]
        sizes = self.population.sizes[self.population.index(names)].tolist()
        seen = self.guard.inspect(
            self.state.model,
            crossed.models,
            crossed.reports,
            final_layer=self._border.final_layer,
            needs=self.selector.needs,
            averaging=self.selector.averaging,
            known_sizes=dict(zip(names, sizes, strict=True)),
        )
        for event in seen.events:
            self.record.note(event)
        return list(seen.models), seen.reports

    def _aggregate(self, models: Sequence[LocalModel]) -> None:
        """Turn the models of an iteration into the next global one."""
        state = self.state
        if self.selector_keeps_models:
            models = state.kept.updated(models)
        if not models:
            return
        stamp = {"round": state.round, "iteration": state.iteration}
        rule = self.aggregation
        if rule is not None and len(models) < rule.least_models:
            reason = f"{rule.name} needs {rule.least_models} models, got {len(models)}"
            self.record.note({"event": "not aggregated", **stamp, "reason": reason})
            return
        if self.guard is not None or self.attackers is not None:
            told = {"clients": [m.client_id for m in models], "weights": [m.weight for m in models]}
            self.record.note({"event": "averaged", **stamp, **told})
        chosen = models if rule is None else rule.condense(state.model, models)
        state.model = self.algorithm.aggregate(state.model, chosen)

    def _refuse(self, refusals: Sequence[Refusal]) -> None:
        self.state.costs.reports_refused += len(refusals)
        stamp = {"round": self.state.round, "iteration": self.state.iteration}
        for refusal in refusals:
            told = {"client": refusal.client_id, "reason": refusal.reason}
            self.record.note({"event": "refused", **stamp, **told})

    def _count_training(self, clients: Sequence[str], sizes: Sequence[int]) -> None:
        costs = self.state.costs
        costs.client_updates += len(clients)
        costs.samples_trained += self.plan.training.epochs * sum(sizes)
        self._count_download(clients)
        # A client sends its model and, as 8-byte numbers, its size and whatever else is asked;
        # updates of the final layer are part of the model already.
        scalars = 1 + sum(not need.endswith("_update") for need in self.selector.needs)
        costs.bytes_up += len(clients) * (self._model_bytes + 8 * scalars)

    def _count_download(self, clients: Sequence[str]) -> None:
        missing = set(clients) - self._holders
        self.state.costs.bytes_down += len(missing) * self._model_bytes
        self._holders |= missing

    @property
    def _model_bytes(self) -> int:
        return 4 * self.workers.layout.size

    def _losses(
        self, clients: Sequence[str], *, sample_size: int | None = None
    ) -> NDArray[np.float64]:
        """Answer a selector's question; every client asked is a cost."""
        costs, tasks = self.state.costs, []
        for position, client in zip(self.population.index(clients), clients, strict=True):
            size, rows = int(self.population.sizes[position]), None
            if sample_size is not None and sample_size < size:
                draw = stream(self.plan.seed, "loss", round=self.state.round, client=client)
                rows = draw.choice(size, size=sample_size, replace=False).tolist()
                size = sample_size
            tasks.append((int(position), rows))
            costs.samples_queried += size
        costs.loss_queries += len(clients)
        costs.bytes_up += 8 * len(clients)
        self._count_download(clients)
        return np.array(self.workers.losses(self.state.model, tasks), dtype=np.float64)

    def _is_due(self) -> bool:
        done = self.state.round + 1
        return done % self.plan.eval_every == 0 or done == self.plan.num_rounds

    def _evaluate(self) -> None:
        """Evaluate the global model on everybody's test data, and on the participants'."""
        state, started = self.state, time.perf_counter()
        correct, losses = self.workers.evaluate(state.model)
        test = self.data.partition.test
        own = [test[p] for p in self.population.index(state.participants)]
        shares = [float(correct[rows].mean()) for rows in own if len(rows)]
        accuracy = float(correct.mean())
        state.accuracy_participating = float(np.mean(shares)) if shares else accuracy
        costs = state.costs
        state.curve.append(
            Point(state.round + 1, costs.client_updates, costs.samples_trained, accuracy)
        )
        loss = float(losses.mean(dtype=np.float64))
        self.record.note(
            {
                "event": "evaluation",
                "round": state.round,
                "accuracy": accuracy,
                "accuracy_participating": state.accuracy_participating,
                "loss": loss if np.isfinite(loss) else None,
                **asdict(costs),
            }
        )
        if state.round + 1 == self.plan.num_rounds or self.is_saturated:
            served = by_client(correct, test)
            self.record.note({"event": "fairness", "round": state.round, **served})
        seconds = round(time.perf_counter() - started, 6)
        self.record.time({"event": "evaluation", "round": state.round, "seconds": seconds})

    def _checkpoint(self) -> None:
        self.record.checkpoint(self.state, self.selector, self.algorithm, self.guard)
