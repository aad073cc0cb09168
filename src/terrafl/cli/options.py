"""The options that several commands share."""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, TypedDict, cast, get_type_hints

import typer

from terrafl.algorithms import ALGORITHMS
from terrafl.cli import output_options
from terrafl.data import available
from terrafl.errors import ConfigurationError
from terrafl.experiments.api import Settings, default_workers
from terrafl.experiments.config_layers import scenario_names
from terrafl.experiments.tracking import TRACKERS
from terrafl.models import MODELS
from terrafl.selection import SELECTORS
from terrafl.settings import Plain

Quiet = output_options.Quiet
Json = output_options.Json

_TRAINING = ("learning_rate", "epochs", "batch_size")


def _name(*flags: str, help: str, names: Callable[[], Iterable[str]]) -> object:
    """Return an option that is a name, which the shell can complete."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return typer.Option(*flags, help=help, autocompletion=complete)


ConfigFile = Annotated[
    Path | None, typer.Argument(help="A TOML file. Options override it.", show_default=False)
]
Scenario = Annotated[
    str | None,
    _name(help="A scenario that ships with terrafl, such as fmnist-4.", names=scenario_names),
]
ModelName = Annotated[
    str | None,
    _name(help=f"One of {', '.join(MODELS)}.", names=lambda: MODELS),
]
SelectorName = Annotated[
    str | None,
    _name(
        "--selector",
        help="A selector such as random or terraform, or your own module:Class.",
        names=lambda: SELECTORS,
    ),
]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds, R.")]
Algorithm = Annotated[
    str | None,
    _name(help="An algorithm such as fedavg, or your own module:Class.", names=lambda: ALGORITHMS),
]
Workers = Annotated[
    int,
    typer.Option(
        min=1,
        default_factory=default_workers,
        show_default=False,
        help="Number of processes; default: all cores. Results stay the same.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Any setting of the TOML file, such as --set selector.eta=2. Repeatable."
    ),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Import code that a run folder names and you never ran before."),
]
Track = Annotated[
    str | None,
    _name(help="Also write the results for another program: tensorboard.", names=lambda: TRACKERS),
]


class RunOptions(TypedDict):
    """The options of a run's configuration."""

    config: ConfigFile
    scenario: Scenario
    dataset: Annotated[
        str | None,
        _name(help="A data set (see terrafl data list), or your own .npz file.", names=available),
    ]
    model: ModelName
    clients: Annotated[int | None, typer.Option(help="Number of clients.")]
    clients_per_round: Annotated[
        int | None, typer.Option(help="Number of clients drawn at the start of a round, K.")
    ]
    rounds: Rounds
    learning_rate: Annotated[float | None, typer.Option(help="Learning rate of local training.")]
    epochs: Annotated[int | None, typer.Option(help="Epochs of local training.")]
    batch_size: Annotated[int | None, typer.Option(help="Batch size of local training.")]
    eval_every: Annotated[int | None, typer.Option(help="Number of rounds between evaluations.")]
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many evaluations without a new best.")
    ]
    guard: Annotated[
        bool | None,
        typer.Option(
            "--guard/--no-guard",
            help="Limit the influence of each client. Set details with --set guard.clip=2.",
            show_default=False,
        ),
    ]
    average: Annotated[
        float | None,
        typer.Option(help="Report a moving average of the model, with this half-life in updates."),
    ]
    precision: Annotated[
        str | None, typer.Option("--precision", help="fp32, or bf16 if the processor supports it.")
    ]
    device: Annotated[str | None, typer.Option(help="A torch device. Only cpu is tested.")]
    settings: Set


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a run's configuration to a command, before its other options."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        for name, hint in get_type_hints(RunOptions, include_extras=True).items()
    ]
    parameters = [*shared, *(p for p in own if p.kind is not p.VAR_KEYWORD)]
    command.__dict__["__signature__"] = inspect.Signature(parameters)  # what typer reads
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def to_settings(options: RunOptions) -> Settings:
    """Return the options as settings; those of local training go into their table."""
    plain: Plain = {**options}
    training = {name: value for name in _TRAINING if (value := plain.pop(name)) is not None}
    plain |= {"training": training or None, "settings": overrides(plain["settings"])}
    return cast("Settings", plain)


def methods(text: str) -> list[str | Plain]:
    """Split a comma-separated list of methods, each with settings in brackets if it has any.

    Examples
    --------
    >>> methods("terraform(eta=2, signal=bias), oort")
    [{'name': 'terraform', 'eta': 2, 'signal': 'bias'}, 'oort']
    """
    found: list[str | Plain] = []
    for part in re.split(r",(?![^(]*\))", text):
        match = re.fullmatch(r"\s*([^()]*?)\s*(?:\((.*)\))?\s*", part)
        if match is None or not match[1]:
            raise ConfigurationError(
                f"methods must be names, each with settings in brackets if any, such as "
                f"terraform(eta=2),random; got {text!r}."
            )
        settings = overrides(listed(match[2] or ""))
        found.append({"name": match[1], **settings} if settings else match[1])
    return found


def listed(text: str) -> list[str]:
    """Split a comma-separated option value.

    Examples
    --------
    >>> listed("random, terraform")
    ['random', 'terraform']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def overrides(assignments: list[str] | None) -> Plain:
    """Turn ``selector.eta=2`` into a layer of settings.

    Examples
    --------
    >>> overrides(["selector.eta=2", "model.name=linear"])
    {'selector': {'eta': 2}, 'model': {'name': 'linear'}}
    """
    layer: Plain = {}
    for assignment in assignments or []:
        path, equals, text = assignment.partition("=")
        if not equals or not all(path.split(".")):
            raise ConfigurationError(
                f"--set must be KEY=VALUE, such as selector.eta=2; got {assignment!r}."
            )
        table = layer
        *parents, key = path.split(".")
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                raise ConfigurationError(
                    f"--set must give {parent} a value or settings, not both; got {assignment!r}."
                )
        table[key] = _value(text)
    return layer


def _value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a bare word is a string
