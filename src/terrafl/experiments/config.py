"""The configuration of a run: typed objects on one side, TOML on the other.

A configuration is resolved in layers, each overriding the one below: a scenario (every data set
has a default one), a file, and single settings from the command line or from Python.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from terrafl.algorithms import ALGORITHMS, Algorithm
from terrafl.data import PARTITIONERS, Partitioner, available
from terrafl.engine.job import Precision
from terrafl.engine.training import LocalTraining
from terrafl.errors import ConfigurationError, require
from terrafl.models import MODELS, Model
from terrafl.models.backbones import BACKBONES, Backbone
from terrafl.selection import SELECTORS, Selector
from terrafl.settings import build, named, suggest, to_plain, to_plain_named

__all__ = ["RunConfig", "read_configuration", "read_toml", "resolve", "scenario_names"]

Plain = dict[str, Any]  # Any: what TOML can hold

_CATALOGUES: Mapping[str, Mapping[str, type]] = {
    "partition": PARTITIONERS,
    "model": MODELS,
    "selector": SELECTORS,
    "algorithm": ALGORITHMS,
    "backbone": BACKBONES,
}
_OPTIONAL = frozenset({"backbone"})
DEFAULT_SCENARIOS = {"digits": "digits", "fmnist": "fmnist-4", "cifar10": "cifar10-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything that decides the result of a run.

    Parameters
    ----------
    dataset
        Name of the data set.
    scenario, profile
        Where the settings came from; labels only.
    partition, model, selector, algorithm, training
        The parts.
    backbone
        A frozen network whose features the model is trained on instead of images, if any.
    rounds
        Rounds, $R$.
    clients_per_round
        Clients wanted at the start of a round, $K$.
    seed
        Of the data split, the partition, the initial model, the selection and the batches.
    eval_every
        Rounds between evaluations.
    patience
        Evaluations without a new best before the run stops; ``None`` runs all rounds.
    precision
        ``bf16`` computes in bfloat16 where the processor has it; parameters stay in float32.
    device
        As torch names it. Only ``cpu`` is tested.
    """

    # Parts are built from their own tables; here pydantic checks only what they are.
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
    rounds: int
    clients_per_round: int
    seed: int = 0
    eval_every: int = 1
    patience: int | None = None
    precision: Precision = "fp32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        _check_dataset(self.dataset)
        for name in ("rounds", "clients_per_round", "eval_every"):
            value = getattr(self, name)
            require(value >= 1, name, value, "an integer of at least 1")
        require(self.seed >= 0, "seed", self.seed, "an integer of at least 0")
        patient = self.patience is None or self.patience >= 1
        require(patient, "patience", self.patience, "an integer of at least 1, or left out")

    def to_plain(self) -> Plain:
        """Return the configuration as TOML values, from which :meth:`from_plain` restores it."""
        found = {key: getattr(self, key) for key in _CATALOGUES}
        parts = {key: to_plain_named(part) for key, part in found.items() if part is not None}
        scalars = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in _CATALOGUES and f.name != "training"
        }
        own = {key: value for key, value in scalars.items() if value is not None}
        return own | parts | {"training": to_plain(self.training)}

    @classmethod
    def from_plain(cls, plain: Plain) -> RunConfig:
        """Build a configuration from what :meth:`to_plain` returned, no scenario consulted."""
        return _build(plain)

    @property
    def experiment(self) -> str:
        """A digest of all settings but seed and selector: what runs compared have in common."""
        plain = self.to_plain()
        shared = {key: plain[key] for key in sorted(plain) if key not in ("seed", "selector")}
        return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def model_label(self) -> str:
        """The model as results name it: with its backbone, and that at its resolution."""
        model = type(self.model).name
        if self.backbone is None:
            return model
        return f"{type(self.backbone).name}@{self.backbone.input_size}+{model}"

    @property
    def variant(self) -> str:
        """The selector's settings that differ from its defaults, such as ``eta=2``.

        A scenario's own settings for the selector are defaults too.
        """
        below = _scenario(self.scenario or _default_scenario(self.dataset)).get("selectors", {})
        return _variant(self.selector, below.get(type(self.selector).name, {}))

    @property
    def run_name(self) -> str:
        """A name for the run's folder: selector, algorithm, what is changed in them, and seed."""
        parts = [type(self.selector).name, self.variant]
        parts += [type(self.algorithm).name, _variant(self.algorithm, {}), f"s{self.seed}"]
        return "-".join(filter(None, parts)).replace("/", "_")


def _variant(part: object, defaults: Plain) -> str:
    """Return the settings of a part that differ from its defaults."""
    try:
        usual = to_plain(type(part)()) | defaults
    except TypeError:  # a class of the user's, some of whose settings have no default
        usual = {}
    changed = {key: value for key, value in to_plain(part).items() if usual.get(key) != value}
    return ",".join(f"{key}={_short(value)}" for key, value in changed.items())


def _short(value: object) -> str:
    text = "-".join(map(str, value)) if isinstance(value, list) else str(value)
    if len(text) <= 40:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:8]  # must fit the name of a folder


def scenario_names() -> list[str]:
    """Return the scenarios that ship with the package."""
    folder = files("terrafl.experiments") / "scenarios"
    names = (item.name.removesuffix(".toml") for item in folder.iterdir())
    return sorted(name for name in names if not name.startswith("_"))


def _check_dataset(name: str) -> None:
    names = available()
    if name not in names:
        hint = suggest(name, names)
        raise ConfigurationError(f"dataset must be one of {', '.join(names)}; got {name!r}{hint}")


def _lowest(scenario: str, dataset: str) -> Plain:
    """Return the layer below all others: the scenario's, or the data set's default one."""
    names = scenario_names()
    if scenario and scenario not in names:
        hint = suggest(scenario, names)
        raise ConfigurationError(
            f"scenario must be one of {', '.join(names)}; got {scenario!r}{hint}"
        )
    if dataset:
        _check_dataset(dataset)
    layer = _scenario(scenario or _default_scenario(dataset))
    if dataset and dataset != layer["dataset"]:
        raise ConfigurationError(
            f"dataset must be {layer['dataset']!r}, which scenario {scenario} is made of; "
            f"got {dataset!r}: name one of the two."
        )
    return layer


def _default_scenario(dataset: str) -> str:
    return DEFAULT_SCENARIOS.get(dataset, dataset or "digits")


def _scenario(name: str) -> Plain:
    """Read a shipped scenario on top of the one it is based on."""
    text = (files("terrafl.experiments") / "scenarios" / f"{name}.toml").read_text()
    layer = tomllib.loads(text)
    base = layer.pop("based_on", None)
    return _merged(_scenario(base), layer) if base else layer


def read_toml(path: Path) -> Plain:
    """Read a configuration file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} must be a TOML file; {error}.") from error


def read_configuration(path: Path) -> Plain:
    """Read a configuration file, such as the ``config.toml`` of a run."""
    plain = read_toml(path)
    plain.pop("versions", None)  # what a run was made with is not a setting
    return plain


def resolve(*layers: Mapping[str, Any]) -> RunConfig:  # Any: what TOML can hold
    """Resolve layers of plain settings, later ones first, into a configuration.

    A layer may name a ``scenario`` or a ``dataset``, whose settings then lie below all layers.

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
        given = _merged(given, {key: _spelled_out(key, value) for key, value in layer.items()})
    lowest = _lowest(_word(given, "scenario"), _word(given, "dataset"))
    defaults = lowest.pop("selectors", {})
    return _build(_with_selector_defaults(_merged(lowest, given), defaults, given))


def _word(given: Plain, key: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise ConfigurationError(f"{key} must be a name; got {value!r}.")
    return value


def _spelled_out(key: str, value: object) -> object:
    """Read ``selector = "random"`` as the table it is short for."""
    return {"name": value} if key in _CATALOGUES and isinstance(value, str) else value


def _with_selector_defaults(plain: Plain, defaults: Plain, given: Plain) -> Plain:
    """Put a scenario's settings for the chosen selector below the caller's."""
    name = _table(plain, "selector").get("name")
    below = {"name": name} | defaults.get(str(name), {})
    return plain | {"selector": below | given.get("selector", {})}


def _merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> Plain:  # Any: TOML values
    """Lay one layer over another; a part with another name does not inherit its settings."""
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            renamed = "name" in value and value["name"] != below.get("name")
            keep = key not in _CATALOGUES or not renamed
            merged[key] = _merged(below if keep else {}, value)
        else:
            merged[key] = value
    return merged


def _build(plain: Plain) -> RunConfig:
    known = [f.name for f in fields(RunConfig)]
    for key in plain:
        if key not in known:
            raise ConfigurationError(
                f"the configuration has no key {key!r}{suggest(key, known)} "
                f"Known keys: {', '.join(known)}."
            )
    parts: Plain = {
        key: named(catalogue, _table(plain, key), key)
        for key, catalogue in _CATALOGUES.items()
        if key in plain or key not in _OPTIONAL
    }
    parts["training"] = build(LocalTraining, _table(plain, "training"), "training")
    scalars = {key: value for key, value in plain.items() if key not in parts}
    return build(RunConfig, scalars | parts, "configuration")


def _table(plain: Plain, key: str) -> Plain:
    table = plain.get(key)
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{key} must be a table of settings; got {table!r}.")
    return dict(table)
