"""The round loop on Flower: Algorithm 1 around any selector and any Flower strategy.

What :mod:`terrafl.engine.rounds` is to simulated clients, this is to nodes: the same
conversation, the same random streams, the same journal. What differs is that nodes come and go,
fall silent and lie.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ConfigRecord, Message
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from terrafl.algorithms import LocalModel
from terrafl.flower import wire
from terrafl.flower.base_state import BaseState
from terrafl.flower.border import Sound
from terrafl.flower.exchange import exchange
from terrafl.flower.flat import Flat
from terrafl.flower.plan import FlowerPlan
from terrafl.flower.questions import loss_in, loss_question
from terrafl.flower.replies import Replies, judge_replies
from terrafl.flower.roster import Roster
from terrafl.flower.state import FlowerState
from terrafl.flower.subset import SubsetGrid, taking_everybody, weight_key
from terrafl.flower.trace import Trace
from terrafl.guard import Guard, Inspection
from terrafl.seeds import stream
from terrafl.selection import Cohort, Context, Refusal, Report, Selector
from terrafl.selection.final_layer import MEASURABLE

__all__ = ["FlowerRounds"]


@dataclass(slots=True, kw_only=True)
class FlowerRounds:
    """One run, from wherever its state stands."""

    plan: FlowerPlan
    grid: Grid
    base: Strategy
    selector: Selector
    roster: Roster
    trace: Trace
    state: FlowerState
    base_state: BaseState
    guard: Guard | None
    _flat: Flat = field(init=False)
    _has_waited: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        measured = bool(MEASURABLE & self.selector.needs)
        self._flat = Flat.of(self.state.model(), self.plan.final_layer, wants_final_layer=measured)

    def run_round(self, config: ConfigRecord) -> None:
        """Run one round, or what remains of one."""
        state = self.state
        if state.cohort is not None and not state.cohort:
            return  # all have trained; what remains is to evaluate
        online = self._gather()
        if state.cohort is None:
            state.open_round(self._announced(self.selector.draw(self._context(online))))
        while state.cohort:
            replies = self._train(state.cohort, config)
            heard = self._aggregate(self._inspected(state.cohort, replies), replies)
            state.close_iteration(self._announced(self.selector.refine(heard)))
            self.checkpoint()

    def checkpoint(self) -> None:
        """Keep the state."""
        self.trace.save(
            self.state.to_checkpoint(self.selector, self.base_state, self.guard, self.roster.sizes)
        )

    def _gather(self) -> dict[str, int]:
        """Wait for clients: at first for as many as are wanted, later for anybody."""
        plan, cohort = self.plan, self.state.cohort

        def enough(there: Collection[str]) -> bool:
            if self._has_waited:
                return len(there) >= 1
            if cohort is not None:  # a round that was interrupted
                return set(cohort.clients) <= set(there)
            return len(there) >= plan.clients_per_round

        refused = self.roster.wait(self.grid, enough, wait_s=plan.wait_s, answer_s=plan.timeout_s)
        self._has_waited = True
        self._refuse([*refused, *self.roster.late(self.grid)])
        return self.roster.online(self.grid)

    def _context(self, online: Mapping[str, int]) -> Context:
        population = self.roster.population()
        return Context(
            round=self.state.round,
            num_rounds=self.plan.num_rounds,
            clients_per_round=self.plan.clients_per_round,
            population=population,
            generator=stream(self.plan.seed, "selection", round=self.state.round),
            losses=self._losses,
            available=self.roster.available(population, online, self.state.round),
        )

    def _announced(self, cohort: Cohort) -> Cohort:
        """Write down who was chosen, and why."""
        state = self.state
        iteration = 0 if state.cohort is None else state.iteration + 1
        if cohort.why:
            self.trace.note({"event": "decision", "round": state.round, **cohort.why})
        if cohort:
            event = {"event": "cohort", "round": state.round, "iteration": iteration}
            drawn_twice = any(draws > 1 for draws in cohort.draws)
            draws = {"draws": cohort.draws} if drawn_twice else {}
            self.trace.note(event | {"clients": cohort.clients} | draws)
        return cohort

    def _train(self, cohort: Cohort, config: ConfigRecord) -> Replies:
        """Train a cohort; return the replies that passed the border."""
        state, started = self.state, time.monotonic()
        online = self.roster.online(self.grid)
        nodes = {client: online[client] for client in cohort.clients if client in online}
        done = exchange(
            self.grid, self._requests(list(nodes.values()), config), self.plan.timeout_s
        )
        self.roster.owe(done.owing, state.round)
        sent = state.model()
        replies = judge_replies(
            {client: done.arrivals.get(node) for client, node in nodes.items()},
            nodes=nodes,
            sent=sent,
            weight_key=weight_key(self.base),
            flat=self._flat,
            known_sizes=self.roster.known_sizes(),
            round=state.round,
            iteration=state.iteration,
            needs=self.selector.needs,
            timeout_s=self.plan.timeout_s,
        )
        gone = [Refusal(c, "the client is not connected") for c in cohort.clients if c not in nodes]
        self._refuse([*gone, *replies.refused])
        self.roster.learn(replies.accepted)
        self._count(nodes, replies.sound, sent)
        arrivals = {client: done.arrivals[n] for client, n in nodes.items() if n in done.arrivals}
        self.trace.time(
            {
                "event": "iteration",
                "round": state.round,
                "iteration": state.iteration,
                "train_s": round(time.monotonic() - started, 6),
                "clients_s": [round(arrival.seconds, 6) for arrival in arrivals.values()],
            }
        )
        return replies

    def _requests(self, nodes: Sequence[int], config: ConfigRecord) -> Iterable[Message]:
        """Let the strategy write the messages to these nodes, and to all of them."""
        if not nodes:
            return []
        state, asked = self.state, config.copy()
        asked[wire.ROUND], asked[wire.ITERATION] = state.round, state.iteration
        grid = SubsetGrid(self.grid, nodes)
        with taking_everybody(self.base):
            return list(self.base.configure_train(state.step + 1, state.arrays.copy(), asked, grid))

    def _inspected(self, cohort: Cohort, replies: Replies) -> Inspection:
        """Let the guard look at what passed the border, if there is one."""
        draws = dict(zip(cohort.clients, cohort.draws, strict=True))
        by_size = self.selector.averaging == "size"
        models = tuple(
            LocalModel(
                client_id=report.client_id,
                vector=self._flat.vector(replies.sound[report.client_id].arrays),
                weight=draws[report.client_id] * (report.num_examples if by_size else 1),
                num_steps=0,
            )
            for report in replies.accepted
        )
        if self.guard is None or not models:
            return Inspection(models, replies.accepted, ())
        return self.guard.inspect(
            self._flat.vector(self.state.model()),
            models,
            replies.accepted,
            final_layer=self._flat.final_layer,
            needs=self.selector.needs,
            averaging=self.selector.averaging,
            known_sizes=self.roster.sizes,
        )

    def _aggregate(self, inspected: Inspection, replies: Replies) -> tuple[Report, ...]:
        """Let the strategy make the next global model; return what the selector may hear."""
        for event in inspected.events:
            self.trace.note(event)
        if not inspected.models:
            return inspected.reports
        state, messages = self.state, []
        for model in inspected.models:
            sound = replies.sound[model.client_id]
            same = np.array_equal(model.vector, self._flat.vector(sound.arrays))
            arrays = None if same else self._flat.arrays(model.vector, sound.arrays)
            messages.append(sound.rewritten(weight_key(self.base), model.weight, arrays))
        state.step += 1
        new, metrics = self.base.aggregate_train(state.step, messages)
        if new is None or not all(np.isfinite(a.numpy()).all() for a in new.values()):
            reason = "the strategy made no model" if new is None else "the model is not finite"
            event = {"event": "not aggregated", "round": state.round}
            self.trace.note(event | {"iteration": state.iteration, "reason": reason})
            return inspected.reports
        state.arrays = new
        if metrics is not None:
            state.history.train[state.round + 1] = metrics
        return inspected.reports

    def _refuse(self, refusals: Iterable[Refusal]) -> None:
        for refusal in refusals:
            self.state.costs.reports_refused += 1
            self.trace.note(
                {
                    "event": "refused",
                    "round": self.state.round,
                    "iteration": self.state.iteration,
                    "client": refusal.client_id,
                    "reason": refusal.reason,
                }
            )

    def _count(
        self,
        asked: Iterable[str],
        sound: Mapping[str, Sound],
        sent: Mapping[str, NDArray[np.generic]],
    ) -> None:
        costs, model_bytes = self.state.costs, sum(array.nbytes for array in sent.values())
        for client in asked:
            costs.client_updates += 1
            costs.bytes_down += model_bytes
            costs.samples_trained += self.plan.epochs * self.roster.sizes[client]
        costs.bytes_up += sum(model_bytes + 8 * len(reply.metrics) for reply in sound.values())

    def _losses(
        self, clients: Sequence[str], *, sample_size: int | None = None
    ) -> NDArray[np.float64]:
        """Ask clients for the loss of the current model; every client asked is a cost."""
        state, nodes = self.state, self.roster.online(self.grid)
        rows = {client: self._rows(client, sample_size) for client in clients if client in nodes}
        questions = [
            loss_question(nodes[client], state.arrays, chosen) for client, chosen in rows.items()
        ]
        arrivals = exchange(self.grid, questions, self.plan.timeout_s).arrivals
        answers = {node: loss_in(arrival.message) for node, arrival in arrivals.items()}
        costs = state.costs
        costs.loss_queries += len(rows)
        costs.samples_queried += sum(
            self.roster.sizes[client] if chosen is None else len(chosen)
            for client, chosen in rows.items()
        )
        costs.bytes_up += 8 * len(rows)
        costs.bytes_down += len(rows) * sum(array.nbytes for array in state.model().values())
        found = [answers.get(nodes.get(client, -1), np.nan) for client in clients]
        return np.array(found, dtype=np.float64)

    def _rows(self, client: str, sample_size: int | None) -> list[int] | None:
        """Draw the examples on which a loss is asked, as the simulator does."""
        size = self.roster.sizes[client]
        if sample_size is None or sample_size >= size:
            return None
        draw = stream(self.plan.seed, "loss", round=self.state.round, client=client)
        rows: list[int] = draw.choice(size, size=sample_size, replace=False).tolist()
        return rows
