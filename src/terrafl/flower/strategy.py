"""A Flower strategy that chooses clients, around any other that aggregates them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from terrafl.errors import ConfigurationError, require
from terrafl.flower.base_state import BaseState
from terrafl.flower.evaluation import note_evaluation, sound_evaluations
from terrafl.flower.labels import labels_of, settings_of, told
from terrafl.flower.plan import FlowerPlan
from terrafl.flower.roster import Identity, Roster
from terrafl.flower.rounds import FlowerRounds
from terrafl.flower.state import FlowerState
from terrafl.flower.subset import SubsetGrid, nodes_to_evaluate, wrapped
from terrafl.flower.trace import Trace
from terrafl.guard import Guard
from terrafl.selection import Selector

__all__ = ["ClientSelection"]

_log = logging.getLogger(__name__)

Evaluate = Callable[[int, ArrayRecord], MetricRecord | None]
Aggregated = tuple[ArrayRecord | None, MetricRecord | None]


class ClientSelection(Strategy):
    """Choose who trains with a selector, and leave all the rest to another strategy.

    One Flower round is one round of the selector. Its inner iterations happen inside: each is
    one aggregation of the wrapped strategy, which sees a step that grows by one every time.
    Evaluation happens once a round, as always.

    Parameters
    ----------
    strategy
        Any Flower strategy. It must be the inner one: wrap what clips or adds noise, do not let
        it wrap this.
    selector
        Any selector of :mod:`terrafl.selection`.
    clients_per_round
        Clients wanted at the start of a round, $K$.
    seed
        Of the selector's random streams.
    guard
        What is done about clients that lie or attack, see :class:`terrafl.guard.Guard`; on with
        its defaults unless ``None``, which trusts whatever passes the border.
    out
        Run folder: journal, checkpoints, model and summary, as a run of the simulator has them.
        A run that was killed goes on when it is started again with the same folder. Left out,
        nothing is written.
    identity
        What tells clients apart across restarts, see :class:`terrafl.flower.roster.Roster`. With
        authenticated nodes use ``public-key``: what a node says of itself proves nothing.
    final_layer
        Name of the layer that gives the class scores; left out, it is found by itself.
    wait_s
        Longest wait for clients to connect: before the first round for $K$ of them, later for
        one. Then the round goes on with whoever is there.
    epochs
        Passes over its data in one local training of a client, for the account of samples.
    accuracy_key
        The metric that is the accuracy, in what ``evaluate_fn`` or the clients return.
    dataset, model
        What reports call them.

    Notes
    -----
    ``start`` takes what every strategy takes. Its ``timeout`` bounds every wait for replies;
    who has not replied by then is left out of the iteration, and sits out until its late reply
    has come, at most three rounds. Every reply is judged alone; a bad one is dropped with its
    reason in the journal. Norms and updates are computed by the server from the models it
    receives, durations are measured by it; losses are the clients' word.

    Metrics of a round are those of its last iteration.
    """

    def __init__(
        self,
        strategy: Strategy,
        selector: Selector,
        *,
        clients_per_round: int,
        seed: int = 0,
        guard: Guard | Literal["default"] | None = "default",
        out: Path | str | None = None,
        identity: Identity = "node-config",
        final_layer: str | None = None,
        wait_s: float = 300.0,
        epochs: int = 1,
        accuracy_key: str = "accuracy",
        dataset: str = "flower",
        model: str = "",
    ) -> None:
        require(clients_per_round >= 1, "clients_per_round", clients_per_round, "at least 1")
        require(wait_s > 0, "wait_s", wait_s, "a number of seconds above 0")
        require(epochs >= 1, "epochs", epochs, "an integer of at least 1")
        known = ("node-config", "public-key")
        require(identity in known, "identity", identity, f"one of {', '.join(known)}")
        if getattr(selector, "anchor", False):
            raise ConfigurationError(
                "a selector that keeps models of earlier iterations in the average (anchor) cannot "
                "be used on Flower, where the strategy averages: leave it out."
            )
        if out is not None and any(getattr(s, "accountant", None) for s in wrapped(strategy)):
            raise ConfigurationError(
                "a strategy with a privacy accountant cannot be gone on with after a crash, as "
                "Flower does not store what was spent: leave out the run folder."
            )
        self.strategy = strategy
        self.selector = selector
        self.clients_per_round = clients_per_round
        self.seed = seed
        self.guard = Guard() if guard == "default" else guard
        self.out = Path(out) if out is not None else None
        self.identity, self.final_layer = identity, final_layer
        self.wait_s, self.epochs = wait_s, epochs
        self.accuracy_key, self.dataset, self.model = accuracy_key, dataset, model
        self._rounds: FlowerRounds | None = None
        self._config = ConfigRecord()
        self._is_centrally_evaluated = False

    def start(  # noqa: PLR0917 - the signature is Flower's
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Evaluate | None = None,
    ) -> Result:
        """Run the rounds, or those that remain; see :meth:`flwr.serverapp.strategy.Strategy.start`.

        After a restart Flower counts the finished rounds once more, without training them.
        """
        require(timeout > 0, "timeout", timeout, "a number of seconds above 0")
        plan = FlowerPlan(
            num_rounds=num_rounds,
            clients_per_round=self.clients_per_round,
            seed=self.seed,
            epochs=self.epochs,
            timeout_s=timeout,
            wait_s=self.wait_s,
            final_layer=self.final_layer,
        )
        self._is_centrally_evaluated = evaluate_fn is not None
        settings = {
            "rounds": num_rounds,
            "clients_per_round": self.clients_per_round,
            "seed": self.seed,
            "identity": self.identity,
            "dataset": self.dataset,
            "model": self.model,
            "epochs": self.epochs,
            "train_config": told(train_config),
            **settings_of(self.selector, self.strategy, self.guard, initial_arrays),
        }
        with Trace(self.out, settings) as trace:
            self._rounds = self._opened(plan, grid, initial_arrays, trace)
            try:
                result = super().start(
                    grid,
                    initial_arrays,
                    num_rounds,
                    timeout,
                    train_config,
                    evaluate_config,
                    self._remembered(evaluate_fn) if evaluate_fn else None,
                )
                self._close_round()
                names = {"dataset": self.dataset, "model": self.model}
                labels = labels_of(self.selector, self.strategy, seed=self.seed, **names)
                trace.finish(self._rounds.state, labels)
            finally:
                self._rounds = None
        return result

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Send nothing yet: a round is a conversation, and :meth:`aggregate_train` holds it."""
        self._config = config
        return []

    def aggregate_train(self, server_round: int, replies: Iterable[Message]) -> Aggregated:
        """Hold the round's conversation; return its last model and metrics."""
        rounds = self._running()
        if server_round - 1 > rounds.state.round:
            self._close_round()
        state = rounds.state
        if server_round - 1 == state.round:
            rounds.run_round(self._config)
        newest = server_round >= state.round  # the last round that has been trained
        return (state.arrays if newest else None), state.history.train.get(server_round)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Let the strategy evaluate, unless it would wait for nodes that are not there."""
        rounds = self._running()
        if server_round - 1 < rounds.state.round:
            return []
        nodes = list(grid.get_node_ids())
        wanted = nodes_to_evaluate(self.strategy, len(nodes))
        if len(nodes) < wanted:
            _log.warning("evaluation needs %d nodes and is left out: %d", wanted, len(nodes))
            return []
        return self.strategy.configure_evaluate(
            server_round, arrays, config, SubsetGrid(grid, nodes)
        )

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Let the strategy average the evaluations that pass the border."""
        rounds = self._running()
        state = rounds.state
        if server_round - 1 < state.round:
            return state.history.evaluate.get(server_round)
        sound = sound_evaluations(rounds, replies)
        metrics = self.strategy.aggregate_evaluate(server_round, sound)
        if metrics is not None:
            state.history.evaluate[server_round] = metrics
            if not self._is_centrally_evaluated:
                note_evaluation(self._running(), metrics, self.accuracy_key)
        return metrics

    def summary(self) -> None:
        """Log what is wrapped, and by what."""
        _log.info(
            "%s chooses %d clients a round",
            type(self.selector).__name__,
            self.clients_per_round,
        )
        self.strategy.summary()

    def _opened(
        self, plan: FlowerPlan, grid: Grid, initial_arrays: ArrayRecord, trace: Trace
    ) -> FlowerRounds:
        base_state, checkpoint = BaseState(self.strategy), trace.open()
        roster = Roster(self.identity)
        if checkpoint is None:
            state = FlowerState(initial_arrays)
        else:
            state = FlowerState.from_checkpoint(checkpoint, self.selector, base_state, self.guard)
            roster.sizes |= checkpoint.values["sizes"]
            _log.warning("going on after %d whole rounds", state.round)
        return FlowerRounds(
            plan=plan,
            grid=grid,
            base=self.strategy,
            selector=self.selector,
            roster=roster,
            trace=trace,
            state=state,
            base_state=base_state,
            guard=self.guard,
        )

    def _running(self) -> FlowerRounds:
        if self._rounds is None:
            raise ConfigurationError(
                "ClientSelection must be the outermost strategy, and run by its own start(): give "
                "it the other strategy, not the other way round."
            )
        return self._rounds

    def _close_round(self) -> None:
        rounds = self._running()
        if rounds.state.cohort is not None:
            rounds.state.close_round()
            rounds.checkpoint()

    def _remembered(self, evaluate: Evaluate) -> Evaluate:
        """Return an evaluation that writes its result down, and does not repeat itself."""

        def evaluated(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
            state = self._running().state
            known = state.history.central
            opening = server_round == 0
            if server_round in known or (server_round - 1 < state.round and not opening):
                return known.get(server_round)
            metrics = evaluate(server_round, arrays)
            if metrics is not None:
                known[server_round] = metrics
                if not opening:
                    note_evaluation(self._running(), metrics, self.accuracy_key)
            return metrics

        return evaluated
