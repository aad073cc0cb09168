"""The Python API: everything the command line can do, as functions.

>>> import terrafl
>>> result = terrafl.run(dataset="digits", selector=terrafl.Terraform(), rounds=1, seed=0)
>>> result.summary.selector, result.summary.rounds
('terraform', 1)
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from itertools import product
from numbers import Integral, Real
from pathlib import Path
from typing import TypedDict, Unpack

from terrafl.algorithms import Algorithm
from terrafl.algorithms.server_average import ServerAverage
from terrafl.data import Partitioner
from terrafl.defences import Attack, Guard
from terrafl.defences.robust import Aggregation
from terrafl.errors import ConfigurationError, require
from terrafl.experiments.compared import Compared
from terrafl.experiments.config import RunConfig, resolve
from terrafl.experiments.config_layers import read_configuration, read_toml
from terrafl.experiments.result import Result
from terrafl.experiments.run import OnRound, execute
from terrafl.experiments.sweep import Cell, OnCell, sweep
from terrafl.experiments.tracking import MakeTracker, Tracking
from terrafl.experiments.trust import require_trust
from terrafl.models import Model
from terrafl.runs.temporary import TemporaryFolder
from terrafl.selection import SELECTORS, Selector
from terrafl.settings import Plain, to_plain, to_plain_named
from terrafl.simulation.local_training import LocalTraining
from terrafl.tasks import Task


class Settings(TypedDict, total=False):
    """Settings from Python or the command line; the scenario provides the rest.

    ``config`` is a TOML file; ``clients`` is short for the partition's number of clients, a number
    for ``average`` is its half-life, and ``settings`` is a mapping of further values in the shape
    of the file. ``trust`` imports code that the file of a run folder names, although it was never
    run here.
    """

    config: Path | str | None
    scenario: str | None
    dataset: str | None
    partition: str | Mapping[str, object] | Partitioner | None
    clients: int | None
    model: str | Mapping[str, object] | Model | None
    training: Mapping[str, object] | LocalTraining | None
    aggregation: str | Mapping[str, object] | Aggregation | None
    guard: bool | Mapping[str, object] | Guard | None
    attack: Mapping[str, object] | Attack | None
    average: float | Mapping[str, object] | ServerAverage | None
    task: str | Mapping[str, object] | Task | None
    clients_per_round: int | None
    rounds: int | None
    eval_every: int | None
    patience: int | None
    precision: str | None
    device: str | None
    settings: Mapping[str, object] | None
    trust: bool


def configure(
    *,
    selector: str | Mapping[str, object] | Selector | None = None,
    algorithm: str | Mapping[str, object] | Algorithm | None = None,
    seed: int | None = None,
    **settings: Unpack[Settings],
) -> RunConfig:
    """Resolve a configuration from a scenario, a file and single settings."""
    layers: list[Plain] = []
    given: Plain = {**settings, "selector": selector, "algorithm": algorithm, "seed": seed}
    file, clients = given.pop("config", None), given.pop("clients", None)
    further, trust = given.pop("settings", None), given.pop("trust", False)
    if isinstance(given.get("average"), Real):
        given["average"] = {"half_life": float(given["average"])}
    if file is not None:
        if "versions" in read_toml(Path(file)) and not trust:  # the file of a run folder
            require_trust(read_configuration(Path(file)), Path(file))
        layers.append(read_configuration(Path(file)))
    layers.append({key: _plain(value) for key, value in given.items() if value is not None})
    if clients is not None:
        layers.append({"partition": {"clients": clients}})
    if further:
        layers.append(dict(further))
    return resolve(*layers)


def _plain(value: object) -> object:
    if isinstance(value, LocalTraining | Guard | Attack | ServerAverage):
        return to_plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):  # Python's or numpy's
        return int(value)
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain_named(value)
    return value


def _checked(workers: int | None) -> int:
    if workers is None:
        return default_workers()
    require(int(workers) == workers >= 1, "workers", workers, "an integer of at least 1")
    return int(workers)


def run(
    *,
    selector: str | Mapping[str, object] | Selector | None = None,
    algorithm: str | Mapping[str, object] | Algorithm | None = None,
    seed: int | None = None,
    out: Path | str | None = None,
    workers: int | None = None,
    on_round: OnRound = lambda done, planned, accuracy: None,
    track: str | MakeTracker | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Train one federation and return the result.

    Parameters
    ----------
    selector, algorithm
        By name, by settings, or as an object: ``"random"``, ``terrafl.Terraform(eta=2)``.
    seed
        Controls all randomness.
    out
        The run folder; left out, a temporary folder that is deleted with the result.
    workers
        Processes that train; the result does not depend on their number.
    on_round
        Called after every round with finished rounds, planned rounds and the newest accuracy.
    track
        ``"tensorboard"`` or a :data:`terrafl.experiments.tracking.MakeTracker`; needs ``out``.
    **settings
        See :class:`Settings`.
    """
    config = configure(selector=selector, algorithm=algorithm, seed=seed, **settings)
    require(track is None or out is not None, "out", out, "a folder when a run is tracked")
    with Tracking(track) as tracking:
        where = None if out is None else Path(out)
        hear = tracking.following(where, on_round) if where else on_round
        return execute(config, where, workers=_checked(workers), on_round=hear)


def compare(
    *,
    selectors: Sequence[str | Mapping[str, object] | Selector] | None = None,
    algorithms: Sequence[str | Mapping[str, object] | Algorithm] | None = None,
    seeds: Sequence[int] | None = None,
    out: Path | str | None = None,
    workers: int | None = None,
    on_round: OnCell = lambda cell, done, planned, accuracy: None,
    track: str | MakeTracker | None = None,
    **settings: Unpack[Settings],
) -> Compared:
    """Train every selector with every algorithm and seed on the same federation.

    Parameters
    ----------
    selectors, algorithms, seeds
        What is compared; every combination is one run. Default: the values in the configuration
        file, else all selectors, FedAvg, and seeds 0, 1 and 2.
    out
        The folder of the runs; finished runs in it are skipped.
    workers
        How many runs at once.
    on_round
        Called after every round of every run.
    track
        As for :func:`run`.
    **settings
        See :class:`Settings`.
    """
    require(track is None or out is not None, "out", out, "a folder when runs are tracked")
    temporary = None
    if out is None:
        temporary = TemporaryFolder()
        out = temporary.path
    plan = cells(Path(out), selectors, algorithms, seeds, **settings)
    sweep(plan, workers=_checked(workers), on_round=on_round, track=track)
    return Compared.read([cell.folder for cell in plan], temporary)


def cells(
    folder: Path,
    selectors: Sequence[str | Mapping[str, object] | Selector] | None,
    algorithms: Sequence[str | Mapping[str, object] | Algorithm] | None,
    seeds: Sequence[int] | None,
    **settings: Unpack[Settings],
) -> list[Cell]:
    """Return the runs of a comparison, seed by seed, so that early results are comparable."""
    file = settings.get("config")
    named = read_configuration(Path(file)) if file else {}
    planned: dict[str, Cell] = {}
    for seed, algorithm, selector in product(
        seeds if seeds is not None else [named["seed"]] if "seed" in named else (0, 1, 2),
        algorithms or [named.get("algorithm", "fedavg")],
        selectors or ([named["selector"]] if "selector" in named else list(SELECTORS)),
    ):
        config = configure(selector=selector, algorithm=algorithm, seed=seed, **settings)
        name = config.run_name
        cell = planned.setdefault(name, Cell(folder / name, config))
        if cell.config.to_plain() != config.to_plain():
            raise ConfigurationError(
                f"runs of a comparison must differ by selector, algorithm or seed; two are called "
                f"{name}: compare them in separate folders."
            )
    return list(planned.values())


def default_workers() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
