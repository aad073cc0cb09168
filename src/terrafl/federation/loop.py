"""The round loop: Algorithm 1 around any selector, algorithm and federation.

References
----------
Balivada et al., "Heterogeneity-Aware Client Selection Methodology For Efficient Federated
Learning", Algorithm 1; line numbers below are its.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import Algorithm, NotAggregated, RunFacts
from terrafl.algorithms.means import mean_of_given_weights, weighted_mean
from terrafl.algorithms.server_average import ServerAverage
from terrafl.defences import Defence, Guard, Intake, Iteration
from terrafl.defences.robust import Aggregation
from terrafl.errors import ConfigurationError
from terrafl.federation.costs import Account
from terrafl.federation.notes import Notes
from terrafl.federation.plan import Plan
from terrafl.federation.protocol import Federation, Question, TrainRequest
from terrafl.federation.record import Record
from terrafl.federation.selector_checks import (
    ask_whom_to_keep,
    check_cohort,
    check_iterations,
    check_selector,
    check_weights,
)
from terrafl.federation.state import RunState, Stateful
from terrafl.records import Cohort, Refusal, Update, Vector
from terrafl.runs import events
from terrafl.seeds import stream
from terrafl.selection import Context, Selector


@dataclass(slots=True, kw_only=True)
class Loop:
    """One run, from its beginning or from where its record resumes it.

    Parameters
    ----------
    plan
        How long and how wide.
    federation
        Who trains.
    selector, algorithm
        Who chooses clients, and what is made of their updates.
    guard
        Bounds what clients can do, after the checks that every update passes.
    aggregation
        A robust rule in place of the weighted mean, if any.
    average
        A moving average of the model to read out, if any.
    record
        Where the run is written, and from where it is resumed.
    initial_model
        The model of a run that begins.
    records_weights
        Whether the weights of every mean are written into the journal.
    drift
        What has changed since the run was started, for the journal.
    on_round
        Called after every round.
    """

    plan: Plan
    federation: Federation
    selector: Selector
    algorithm: Algorithm
    record: Record
    initial_model: Vector
    guard: Guard | None = None
    aggregation: Aggregation | None = None
    average: ServerAverage | None = None
    records_weights: bool = False
    drift: Mapping[str, Sequence[str]] | None = None
    on_round: Callable[[RunState], None] = lambda state: None
    state: RunState = field(init=False)
    _defences: Sequence[Defence] = field(init=False)
    _account: Account = field(init=False)
    _notes: Notes = field(init=False)
    _available: NDArray[np.bool_] | None = field(default=None, init=False)
    _is_described: bool = field(init=False)

    def __post_init__(self) -> None:
        check_selector(self.selector)
        self._defences = [Intake()] if self.guard is None else [Intake(), self.guard]
        self._begin_algorithm()
        self._account = Account(self.federation, self.selector.needs, self.algorithm)
        self.state = self.record.open(self.initial_model, self._parts())
        self._notes = Notes(self.record, self.state)
        self._is_described = self.record.start is not None

    def _begin_algorithm(self) -> None:
        """Tell the algorithm about the run; refuse what does not go with client state."""
        algorithm, selector = self.algorithm, self.selector
        if algorithm.gives and (selector.keeps_updates or self.aggregation is not None):
            part = "an anchor" if selector.keeps_updates else "a robust rule"
            raise ConfigurationError(
                f"{algorithm.name} keeps state for each client and must have the plain mean of an "
                f"iteration; got {part}: leave it out, or choose another algorithm."
            )
        algorithm.begin(
            RunFacts(
                model=self.initial_model,
                averaging=selector.averaging,
                client_vectors=partial(self.record.client_vectors, len(self.initial_model)),
                **asdict(self.federation.training_facts),
            )
        )

    def run(self) -> None:
        """Run the rounds that remain."""
        while self.state.round < self.plan.num_rounds and not self.is_saturated:  # line 4
            self.run_round()
            self.on_round(self.state)

    def run_round(self) -> None:
        """Run one round, or what remains of one."""
        state = self.state
        self._gather()
        if state.cohort is None:
            draw = partial(self.selector.draw, self._context(0))
            state.open_round(self._chosen(draw, iteration=0))  # lines 5-6
        while state.cohort:  # line 7
            updates = self._train(state.cohort)  # line 8
            self._aggregate(updates)
            following, heard = state.iteration + 1, [u.report for u in updates if u.heard]
            refine = partial(self.selector.refine, heard, self._context(following))
            state.close_iteration(self._chosen(refine, following))  # lines 9-15
            self._checkpoint()
        if self._is_due():
            self._evaluate()
        state.close_round()  # line 17
        self._checkpoint()

    @property
    def readouts(self) -> Mapping[str, Vector]:
        """The models that are evaluated, by name; the first is reported and saved."""
        own = self.algorithm.readouts(self.state.model)
        averaged = None if self.average is None else self.average.model
        return own if averaged is None else {"averaged": averaged, **own}

    @property
    def readout(self) -> Vector:
        """The model that is reported and saved."""
        return next(iter(self.readouts.values()))

    @property
    def is_saturated(self) -> bool:
        """Whether accuracy has stopped improving for longer than patience allows."""
        patience = self.plan.patience
        return patience is not None and self.state.evaluations_without_improvement() >= patience

    def _gather(self) -> None:
        """Wait for clients; describe them once in the journal."""
        state = self.state
        waiting_for = () if state.cohort is None else state.cohort.clients
        gathering = self.federation.gather(state.round, waiting_for)
        self._available = gathering.available
        if not self._is_described:
            for event in self.federation.describe():
                self.record.note(event)
            self._is_described = True
        if self.drift is not None:
            self.record.note(events.Drift(round=state.round, changes=self.drift))
            self.drift = None
        self._notes.refused(gathering.refusals)

    def _context(self, iteration: int, purpose: str = "selection") -> Context:
        number = self.state.round
        return Context(
            round=number,
            iteration=iteration,
            num_rounds=self.plan.num_rounds,
            clients_per_round=self.plan.clients_per_round,
            population=self.federation.population,
            generator=stream(self.plan.seed, purpose, round=number, iteration=iteration),
            ask=self._ask,
            available=self._available,
        )

    def _chosen(self, choose: Callable[[], Cohort], iteration: int) -> Cohort:
        """Ask the selector; write down whom it chose, why, and how long that took."""
        started = time.perf_counter()
        method = f"{type(self.selector).__name__}.{'refine' if iteration else 'draw'}"
        cohort = check_cohort(choose(), self.federation.population, method)
        check_iterations(cohort, iteration, self.plan.max_iterations_per_round, method)
        check_weights(cohort, self.selector, self.aggregation)
        self._notes.chosen(cohort, iteration, time.perf_counter() - started)
        return cohort

    def _train(self, cohort: Cohort) -> list[Update]:
        """Train a cohort; return the updates that pass the defences."""
        state, started = self.state, time.perf_counter()
        population = self.federation.population
        request = TrainRequest(
            round=state.round,
            iteration=state.iteration,
            step=state.step,
            clients=cohort.clients,
            model=state.model,
            needs=self.selector.needs,
            shared=self.algorithm.shared(population),
            given={c: self.algorithm.give(c, population) for c in cohort.clients},
        )
        results = self.federation.train(request)
        self._notes.trained(results, time.perf_counter() - started)
        trained = [result for result in results if isinstance(result, Update)]
        updates = self._keep(cohort, trained)
        if updates:
            state.empty_choices = 0
        uploads = len(updates if self.federation.uploads_on_demand else trained)
        state.costs += self._account.trained(request, results, uploads)
        self._notes.refused([result for result in results if isinstance(result, Refusal)])
        assert state.cohort is not None
        return self._inspected(state.cohort, updates)

    def _keep(self, cohort: Cohort, updates: Sequence[Update]) -> Sequence[Update]:
        """Let the selector keep a part of a cohort that has trained."""
        state, layer = self.state, self.federation.final_layer
        context = self._context(state.iteration, "keep")
        kept = ask_whom_to_keep(self.selector, context, cohort, updates, layer)
        if kept is None:
            return updates
        check_weights(kept, self.selector, self.aggregation)
        state.cohort = kept
        self._notes.why(kept)
        remaining = [update for update in updates if update.client_id in kept.clients]
        if updates and not remaining:
            self._notes.chose_nobody()
        return remaining

    def _inspected(self, cohort: Cohort, updates: Sequence[Update]) -> list[Update]:
        """Pass updates through the chain of defences."""
        state = self.state
        iteration = Iteration(
            round=state.round,
            iteration=state.iteration,
            received=state.model,
            cohort=cohort,
            needs=self.selector.needs,
            averaging="plain" if cohort.weights else self.selector.averaging,
            population=self.federation.population,
            final_layer=self.federation.final_layer,
        )
        for defence in self._defences:
            inspected = defence.inspect(iteration, updates)
            self._notes.refused(inspected.refusals)
            for event in inspected.events:
                self.record.note(event)
            updates = inspected.updates
        return list(updates)

    def _aggregate(self, updates: Sequence[Update]) -> None:
        """Turn the updates of an iteration into the next global model."""
        state, num_updates = self.state, len(updates)
        self._account.replace_model()
        if self.selector.keeps_updates:
            updates = state.kept.updated(updates)
        if not updates:
            return
        rule = self.aggregation
        if rule is not None and len(updates) < rule.least_models:
            needed = f"{rule.name} needs {rule.least_models} models, got {len(updates)}"
            self._notes.not_aggregated(needed)
            return
        has_given_weights = state.cohort is not None and bool(state.cohort.weights)
        if self.records_weights or has_given_weights:
            self._notes.averaged(updates)
        mean = mean_of_given_weights if has_given_weights else weighted_mean
        if rule is not None:
            mean = rule.mean
        state.step += 1
        self.algorithm.learn(state.model, updates, self.federation.population)
        try:
            state.model = self.algorithm.aggregate(
                state.model, updates, self.federation.population, mean
            )
        except NotAggregated as error:
            self._notes.not_aggregated(str(error))
            return
        if self.average is not None:
            self.average.take(
                next(iter(self.algorithm.readouts(state.model).values())), num_updates
            )

    def _ask(
        self, clients: Sequence[str], what: str, *, sample_size: int | None = None
    ) -> NDArray[np.float64]:
        """Answer a selector's question; every client asked is a cost."""
        state = self.state
        question = Question(
            round=state.round,
            clients=clients,
            model=state.model,
            what=what,
            sample_size=sample_size,
        )
        answers = self.federation.ask(question)
        state.costs += self._account.asked(answers)
        return answers.values

    def _is_due(self) -> bool:
        done = self.state.round + 1
        return done % self.plan.eval_every == 0 or done == self.plan.num_rounds

    def _evaluate(self) -> None:
        """Evaluate every read-out on all test data, and on the participants'."""
        state, started = self.state, time.perf_counter()
        readouts = self.readouts
        evaluations = {
            name: evaluation
            for name, model in readouts.items()
            if (evaluation := self.federation.evaluate(model, state.participants)) is not None
        }
        if next(iter(readouts)) not in evaluations:  # no other may be reported in its place
            return
        state.evaluated(evaluations)
        is_last = state.round + 1 == self.plan.num_rounds or self.is_saturated
        self._notes.evaluated(evaluations, time.perf_counter() - started, is_last=is_last)

    def _parts(self) -> dict[str, Stateful]:
        """Return what has a state of its own, by name."""
        return {
            "selector": self.selector,
            "algorithm": self.algorithm,
            "federation": self.federation,
            "account": self._account,
            **({} if self.average is None else {"average": self.average}),
            **{f"defence-{i}": defence for i, defence in enumerate(self._defences)},
        }

    def _checkpoint(self) -> None:
        self.record.checkpoint(self.state, self._parts())
