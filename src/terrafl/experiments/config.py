"""The configuration of a run, as typed objects and as TOML.

A configuration is resolved in layers, each overriding the one below: a scenario (every data set
has a default one), a file, and single settings from the command line or from Python.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from terrafl.algorithms import ALGORITHMS, Algorithm
from terrafl.algorithms.server_average import ServerAverage
from terrafl.data import PARTITIONERS, Partitioner, available, is_npz_path
from terrafl.defences import Attack, Guard
from terrafl.defences.robust import AGGREGATIONS, Aggregation, require_tolerable
from terrafl.errors import ConfigurationError, require, require_known, suggest
from terrafl.experiments.config_layers import (
    default_scenario,
    merged,
    read_scenario,
    scenario_names,
)
from terrafl.models import BACKBONES, MODELS, Backbone, Model
from terrafl.runs import Labels
from terrafl.selection import SELECTORS, Selector
from terrafl.settings import Plain, build, named, to_plain, to_plain_named, variant_of
from terrafl.simulation.job import OnClientFailure, Precision
from terrafl.simulation.local_training import LocalTraining
from terrafl.tasks import TASKS, Classification, Task

_CATALOGUES: Mapping[str, Mapping[str, type]] = {
    "partition": PARTITIONERS,
    "model": MODELS,
    "selector": SELECTORS,
    "algorithm": ALGORITHMS,
    "backbone": BACKBONES,
    "aggregation": AGGREGATIONS,
    "task": TASKS,
}
_TABLES: Mapping[str, type] = {
    "training": LocalTraining,
    "guard": Guard,
    "attack": Attack,
    "average": ServerAverage,
}
_PARTS = (*_CATALOGUES, *_TABLES)
_OPTIONAL = frozenset({"backbone", "aggregation", "guard", "attack", "average", "task"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything that decides the result of a run.

    Parameters
    ----------
    dataset
        Name of the data set, or the path of an ``.npz`` file.
    scenario, profile
        Labels that say where the settings came from.
    partition, model, selector, algorithm, training
        The parts.
    backbone
        A frozen network whose features the model is trained on instead of images, if any.
    aggregation
        A robust rule in front of the algorithm's average, if any.
    guard
        Measures of the server against faulty or malicious clients, if any.
    attack
        An attack by some of the clients, if any.
    average
        A moving average of the global model that is read out in its place, if any.
    task
        The loss and the score.
    rounds
        Rounds, $R$.
    clients_per_round
        Clients that start a round, $K$.
    seed
        Controls the data split, the partition, the initial model, the selection and the batches.
    eval_every
        Rounds between evaluations.
    patience
        Evaluations without a new best before the run stops; ``None`` runs all rounds.
    precision
        ``bf16`` computes in bfloat16 where the processor has it; parameters stay in float32.
    device
        A torch device. Only ``cpu`` is tested.
    max_iterations_per_round
        Iterations after which a round must have ended; a selector that asks for more stops the
        run. Left out, it is 50.
    on_client_failure
        What to do when training a client raises, or kills three workers: ``stop`` the run, which
        can be resumed, or ``drop`` the client from the iteration, with the reason in the journal.
    """

    # Each part is built and checked separately; here pydantic checks only its type.
    __pydantic_config__ = {"arbitrary_types_allowed": True}  # noqa: RUF012

    dataset: str
    scenario: str = ""
    profile: str = ""
    partition: Partitioner
    model: Model
    selector: Selector
    algorithm: Algorithm
    training: LocalTraining
    backbone: Backbone | None = None
    aggregation: Aggregation | None = None
    guard: Guard | None = None
    attack: Attack | None = None
    average: ServerAverage | None = None
    task: Task = field(default_factory=Classification)
    rounds: int
    clients_per_round: int
    seed: int = 0
    eval_every: int = 1
    patience: int | None = None
    precision: Precision = "fp32"
    device: str = "cpu"
    max_iterations_per_round: int | None = None
    on_client_failure: OnClientFailure = "stop"

    def __post_init__(self) -> None:
        _check_dataset(self.dataset)
        for name in ("rounds", "clients_per_round", "eval_every"):
            value = getattr(self, name)
            require(value >= 1, name, value, "an integer of at least 1")
        require(self.seed >= 0, "seed", self.seed, "an integer of at least 0")
        for name in ("patience", "max_iterations_per_round"):
            value = getattr(self, name)
            at_least_1 = value is None or value >= 1
            require(at_least_1, name, value, "an integer of at least 1, or left out")
        if self.aggregation is not None:
            smallest = self.selector.smallest_cohort(self.clients_per_round)
            is_whole = smallest == self.clients_per_round
            why = "clients_per_round" if is_whole else "the selector's smallest cohort"
            require_tolerable(self.aggregation, smallest, why)

    def to_plain(self) -> Plain:
        """Return the configuration as TOML values, from which :meth:`from_plain` restores it.

        The task is left out where it is classification, as in configurations of older versions.
        """
        scalars = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _PARTS}
        return {key: value for key, value in scalars.items() if value is not None} | {
            key: to_plain(part) if key in _TABLES else to_plain_named(part)
            for key, part in self.parts.items()
            if part != Classification()
        }

    @classmethod
    def from_plain(cls, plain: Plain) -> Self:
        """Build a configuration from what :meth:`to_plain` returned, without any scenario."""
        given = dict(plain)
        if given.get("guard") is False:
            del given["guard"]
        parts = {key: _part(key, given) for key in _PARTS if key in given or key not in _OPTIONAL}
        return build(cls, given | parts, "configuration")

    def fresh(self) -> Self:
        """Return an equal configuration with new parts, which have not learned anything yet."""
        return replace(self, **{key: replace(part) for key, part in self.parts.items()})

    @property
    def parts(self) -> Mapping[str, Any]:  # Any: dataclasses of many kinds
        """The parts that are set, by name."""
        every = {key: getattr(self, key) for key in _PARTS}
        return {key: part for key, part in every.items() if part is not None}

    @property
    def experiment(self) -> str:
        """A digest of all settings but seed and selector; runs that may be compared share it."""
        plain = self.to_plain()
        # What stops a run is not a setting of the experiment: it changes nothing else.
        left_out = ("seed", "selector", "on_client_failure", "max_iterations_per_round")
        shared = {key: plain[key] for key in sorted(plain) if key not in left_out}
        return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def labels(self) -> Labels:
        """What results call this run."""
        return Labels(
            dataset=self.dataset,
            scenario=self.scenario,
            model=self.model_label,
            selector=type(self.selector).name,
            algorithm=type(self.algorithm).name,
            seed=self.seed,
            profile=self.profile,
            variant=self.variant,
            algorithm_variant=self.algorithm_variant,
            experiment=self.experiment,
        )

    @property
    def model_label(self) -> str:
        """The model's name in results, with its backbone and the backbone's resolution."""
        model = type(self.model).name
        if self.backbone is None:
            return model
        return f"{type(self.backbone).name}@{self.backbone.input_size}+{model}"

    @property
    def variant(self) -> str:
        """The selector's settings that differ from its defaults, such as ``eta=2``.

        A scenario's settings for the selector are defaults too.
        """
        below = read_scenario(self.scenario or default_scenario(self.dataset)).get("selectors", {})
        return variant_of(self.selector, below.get(type(self.selector).name, {}))

    @property
    def algorithm_variant(self) -> str:
        """The algorithm's settings that differ from its defaults, and the server averaging."""
        average = "" if self.average is None else f"average={self.average.half_life:g}"
        return ",".join(filter(None, [variant_of(self.algorithm, {}), average]))

    @property
    def run_name(self) -> str:
        """A name for the run's folder: selector, algorithm, their changed settings, and seed."""
        parts = [type(self.selector).name, self.variant]
        parts += [type(self.algorithm).name, self.algorithm_variant]
        if self.aggregation is not None:
            parts += [type(self.aggregation).name, variant_of(self.aggregation, {})]
        if self.guard is not None:
            parts += ["guard", variant_of(self.guard, {})]
        if self.attack is not None:
            parts += [self.attack.kind]
        parts += [f"s{self.seed}"]
        return "-".join(filter(None, parts)).replace("/", "_")


def _check_dataset(name: str) -> None:
    names = available()
    if name not in names and not is_npz_path(name):
        hint = suggest(name, names)
        raise ConfigurationError(
            f"dataset must be one of {', '.join(names)}, or an .npz file; got {name!r}{hint}"
        )


def _lowest(scenario: str, dataset: str) -> Plain:
    """Return the lowest layer: the scenario, or the default scenario of the data set."""
    if scenario:
        require_known(scenario, scenario_names(), "scenario must be one of")
    if dataset:
        _check_dataset(dataset)
    layer = read_scenario(scenario or default_scenario(dataset))
    if dataset and dataset != layer.setdefault("dataset", dataset):
        raise ConfigurationError(
            f"dataset must be {layer['dataset']!r} for scenario {scenario}; "
            f"got {dataset!r}: give only one of the two."
        )
    return layer


def resolve(*layers: Mapping[str, Any]) -> RunConfig:  # Any: what TOML can hold
    """Resolve layers of plain settings, later ones first, into a configuration.

    A layer may name a ``scenario`` or a ``dataset``; its settings are the lowest layer.

    Examples
    --------
    >>> config = resolve({"selector": {"name": "terraform", "eta": 2}, "rounds": 5})
    >>> config.dataset, config.rounds, config.variant
    ('digits', 5, 'eta=2')
    >>> resolve({"selector": {"name": "terraform", "etta": 2}})
    Traceback (most recent call last):
    ...
    terrafl.errors.ConfigurationError: selector has no key 'etta': did you mean 'eta'? \
Known keys: eta, max_iterations, signal, search_range, weighting, anchor.
    """
    given: Plain = {}
    for layer in layers:
        given = merged(given, {key: _spelled_out(key, value) for key, value in layer.items()})
    lowest = _lowest(_word(given, "scenario"), _word(given, "dataset"))
    defaults = lowest.pop("selectors", {})  # a scenario's settings for each selector
    plain = merged(lowest, given)
    name = _table(plain, "selector").get("name")
    own = {"name": name} | defaults.get(str(name), {}) | given.get("selector", {})
    return RunConfig.from_plain(plain | {"selector": own})


def _word(given: Plain, key: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise ConfigurationError(f"{key} must be a name; got {value!r}.")
    return value


def _spelled_out(key: str, value: object) -> object:
    """Expand the short forms ``selector = "random"`` and ``guard = true`` to tables."""
    if key == "guard" and value is True:
        return {}
    return {"name": value} if key in _CATALOGUES and isinstance(value, str) else value


def _part(key: str, plain: Plain) -> object:
    if key in _TABLES:
        return build(_TABLES[key], _table(plain, key), key)
    return named(_CATALOGUES[key], _table(plain, key), key)


def _table(plain: Plain, key: str) -> Plain:
    table = plain.get(key)
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{key} must be a table of settings; got {table!r}.")
    return dict(table)
