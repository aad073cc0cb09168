"""A Flower strategy that chooses clients, around any other that aggregates them."""

import logging
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import NoReturn, get_args

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from terrafl.algorithms import Algorithm
from terrafl.algorithms.server_average import ServerAverage
from terrafl.defences import Guard
from terrafl.errors import ConfigurationError, require
from terrafl.federation.loop import Loop
from terrafl.federation.plan import MOST_ITERATIONS, Plan
from terrafl.flower.algorithm import StrategyAlgorithm
from terrafl.flower.federation import Evaluate, FlowerFederation
from terrafl.flower.history import History
from terrafl.flower.labels import labels_of, settings_of
from terrafl.flower.model_arrays import ModelArrays
from terrafl.flower.roster import Identity
from terrafl.flower.run_folder import begin, finish
from terrafl.flower.subset import wrapped
from terrafl.runs import RunFolder
from terrafl.selection import Selector
from terrafl.selection.needs import find

_log = logging.getLogger(__name__)

_OUTERMOST = (
    "ClientSelection must be the outermost strategy, and run by its own start(): give it the "
    "other strategy, not the other way round."
)


@dataclass(eq=False)
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
    algorithm
        An algorithm of :mod:`terrafl.algorithms` that aggregates in the strategy's place, such as
        SCAFFOLD or FedNova; the strategy then only writes messages. Clients must follow it, see
        :func:`terrafl.flower.follow`.
    average
        Reads out a moving average of the model, see
        :class:`terrafl.algorithms.server_average.ServerAverage`.
    guard
        Bounds what clients that lie or attack can do, see :class:`terrafl.defences.Guard`; on with
        its defaults unless ``None``, which trusts every update that passes the checks.
    out
        Run folder: journal, checkpoints, model and summary, as a run of the simulator has them.
        A run that was killed resumes when it is started again with the same folder. Left out,
        nothing is written.
    identity
        What tells clients apart across restarts, see :class:`terrafl.flower.roster.Roster`. With
        authenticated nodes use ``public-key``: what a node says of itself proves nothing.
    final_layer
        Name of the layer that gives the class scores; left out, it is detected.
    wait_s
        Longest wait for clients to connect: before the first round for $K$ of them, later for
        one. Then the round continues with the clients that are connected.
    epochs
        Passes over its data in one local training of a client, for the account of samples.
    max_iterations_per_round
        Iterations after which a round must have ended; a selector that asks for more stops the
        run. A stopped run resumes with a higher number.
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

    strategy: Strategy
    selector: Selector
    _: KW_ONLY
    clients_per_round: int
    seed: int = 0
    algorithm: Algorithm | None = None
    average: ServerAverage | None = None
    guard: Guard | None = field(default_factory=Guard)
    out: Path | str | None = None
    identity: Identity = "node-config"
    final_layer: str | None = None
    wait_s: float = 300.0
    epochs: int = 1
    max_iterations_per_round: int = MOST_ITERATIONS
    accuracy_key: str = "accuracy"
    dataset: str = "flower"
    model: str = ""

    def __post_init__(self) -> None:
        must = "an integer of at least 1"
        require(self.clients_per_round >= 1, "clients_per_round", self.clients_per_round, must)
        require(self.wait_s > 0, "wait_s", self.wait_s, "a number of seconds above 0")
        require(self.epochs >= 1, "epochs", self.epochs, must)
        most, known = self.max_iterations_per_round, get_args(Identity)
        require(most >= 1, "max_iterations_per_round", most, must)
        require(self.identity in known, "identity", self.identity, f"one of {', '.join(known)}")
        if self.algorithm is not None and self.algorithm.uses_features:
            raise ConfigurationError(
                f"{self.algorithm.name} cannot run on Flower, since clients would have to evaluate "
                "further models in training: use it in the simulator, or choose another algorithm."
            )
        wrapped_ones = wrapped(self.strategy)
        if self.out is not None and any(getattr(s, "accountant", None) for s in wrapped_ones):
            raise ConfigurationError(
                "a strategy with a privacy accountant cannot be resumed after a crash, as Flower "
                "does not store what was spent: leave out the run folder."
            )

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
        """Run the rounds, or those that remain.

        Parameters and result are those of :meth:`flwr.serverapp.strategy.Strategy.start`.
        """
        require(timeout > 0, "timeout", timeout, "a number of seconds above 0")
        train_config = train_config or ConfigRecord()
        settings = {
            "rounds": num_rounds,
            "clients_per_round": self.clients_per_round,
            "seed": self.seed,
            "identity": self.identity,
            "dataset": self.dataset,
            "model": self.model,
            "epochs": self.epochs,
            "train_config": {k: v for k, v in train_config.items() if not isinstance(v, bytes)},
            **settings_of(self, initial_arrays),
        }
        labels = labels_of(self, settings)
        wants_layer = any(find(need).uses_final_layer for need in self.selector.needs)
        model = ModelArrays(initial_arrays, self.final_layer, wants_final_layer=wants_layer)
        history = History()
        federation = FlowerFederation(
            grid=grid,
            settings=self,
            model=model,
            history=history,
            timeout_s=timeout,
            train_config=train_config,
            evaluate_config=evaluate_config or ConfigRecord(),
            evaluate_fn=evaluate_fn,
        )
        self.summary()
        holding = RunFolder(Path(self.out)) if self.out is not None else nullcontext()
        with holding as folder, begin(folder, settings, labels) as record:
            loop = Loop(
                plan=Plan(
                    num_rounds=num_rounds,
                    clients_per_round=self.clients_per_round,
                    seed=self.seed,
                    max_iterations_per_round=self.max_iterations_per_round,
                ),
                federation=federation,
                selector=self.selector,
                algorithm=self.algorithm
                or StrategyAlgorithm(
                    self.strategy, model, history, keeps_updates=self.selector.keeps_updates
                ),
                average=self.average,
                guard=self.guard,
                record=record,
                initial_model=model.vector,
                records_weights=self.guard is not None,
                on_round=lambda state: _log.info("round %d of %d done", state.round, num_rounds),
            )
            federation.evaluate_centrally(0, initial_arrays)
            loop.run()
            arrays = model.record_of(loop.readout)
            if folder is not None:
                finish(folder, model, labels, loop.state, num_rounds)
        return Result(arrays, history.train, history.evaluate, history.central)

    def configure_train(self, *arguments: object, **options: object) -> NoReturn:
        """Refuse: only :meth:`start` runs rounds."""
        raise ConfigurationError(_OUTERMOST)

    aggregate_train = configure_evaluate = aggregate_evaluate = configure_train

    def summary(self) -> None:
        """Log what is wrapped, and by what."""
        _log.info(
            "%s chooses %d clients a round",
            type(self.selector).__name__,
            self.clients_per_round,
        )
        self.strategy.summary()
