"""The runs of the attack benchmark, and the small file that keeps the result of each."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Unpack

from terrafl.defences import KINDS, Kind
from terrafl.defences.guard import Guard
from terrafl.errors import RunFolderError, require_known
from terrafl.experiments.api import Settings, configure
from terrafl.experiments.attacked.evidence import Evidence, weigh
from terrafl.experiments.run import read_config
from terrafl.experiments.sweep import Cell
from terrafl.runs import RunFolder, read_events
from terrafl.runs.atomic import write_atomically
from terrafl.settings import to_plain


@dataclass(frozen=True, slots=True)
class Method:
    """A selector and its defence.

    Parameters
    ----------
    label
        Its label in tables.
    selector
        Settings of the selector.
    guard
        Settings of the guard; ``None`` for no guard.
    """

    label: str
    selector: Mapping[str, Any]  # Any: what TOML can hold
    guard: Mapping[str, Any] | None = None


_TERRAFORM = {"name": "terraform"}
_NOTHING = {"recompute": False, "clip": 0.0, "size_cap": 0.0, "retrainings": 0, "quarantine": 0.0}
_DEFAULT = to_plain(Guard())


def _only(*settings: str) -> dict[str, Any]:  # Any: what TOML can hold
    """Return a guard with only these measures, at their defaults."""
    return _NOTHING | {name: _DEFAULT[name] for name in settings}


METHODS: Mapping[str, Method] = {
    "terraform": Method("Terraform, literal", _TERRAFORM),
    "guarded": Method("Terraform, guarded", _TERRAFORM, {}),
    "random": Method("Random", {"name": "random"}),
    "anchored": Method("Terraform, anchored, guarded", _TERRAFORM | {"anchor": True}, {}),
    "guarded-random": Method("Random, guarded", {"name": "random"}, {}),
    "recompute": Method("Terraform, norms measured", _TERRAFORM, _only("recompute")),
    "clip": Method("Terraform, clipped", _TERRAFORM, _only("clip")),
    "cap": Method("Terraform, sizes capped", _TERRAFORM, _only("size_cap")),
    "budget": Method("Terraform, on a budget", _TERRAFORM, _only("retrainings")),
    "quarantine": Method("Terraform, quarantine", _TERRAFORM, _only("quarantine")),
}
"""The three of the table, two more, and every measure of the guard alone."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """One run: a method under an attack."""

    method: str
    kind: Kind
    cell: Cell


def plan(
    folder: Path,
    methods: Sequence[str],
    kinds: Sequence[Kind],
    *,
    fraction: float = 0.1,
    seeds: Sequence[int] = (0,),
    **settings: Unpack[Settings],
) -> list[Attacked]:
    """Plan every method under every attack, seed by seed and controls first, on one federation.

    Parameters
    ----------
    folder
        Where the runs go.
    methods, kinds
        Names out of :data:`METHODS` and :data:`terrafl.defences.KINDS`.
    fraction
        Part of the clients that attacks.
    seeds
        Each controls all randomness of its runs, including which clients attack.
    **settings
        See :class:`terrafl.experiments.api.Settings`.
    """
    planned = []
    for seed, kind, name in product(seeds, sorted(kinds, key=KINDS.index), methods):
        method, merged = METHODS[name], settings.copy()
        further: dict[str, Any] = dict(merged.get("settings") or {})  # Any: what TOML can hold
        detail = further.pop("guard", {})  # only for methods with a guard
        if method.guard is not None:
            further["guard"] = {**method.guard, **detail}
        merged["settings"] = further
        merged["attack"] = {"kind": kind, "fraction": fraction}
        config = configure(selector=method.selector, seed=seed, **merged)
        planned.append(Attacked(name, kind, Cell(folder / f"{name}-{kind}-s{seed}", config)))
    return planned


def chosen_methods(names: Sequence[str] | None) -> list[str]:
    """Return the methods with these names; by default those of the table."""
    wanted = ["terraform", "guarded", "random"] if names is None else list(names)
    for name in wanted:
        require_known(name, METHODS, "methods must be among")
    return wanted


def chosen_kinds(names: Sequence[str] | None) -> list[Kind]:
    """Return the attacks with these names, and the control; by default all."""
    if names is None:
        return list(KINDS)
    for name in names:
        require_known(name, KINDS, "attacks must be among")
    return [kind for kind in KINDS if kind in names or kind == "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The outcome of one run.

    Parameters
    ----------
    method, kind, seed
        Which run.
    fraction
        Share of the clients that attacks.
    scenario, rounds
        What was trained, and for how many rounds.
    accuracy, mean_last_ten
        On the pooled test set: after the last round, and of the last ten evaluations.
    evidence
        What the journal says about the attackers.
    configuration
        The whole configuration of the run; ``terrafl run`` repeats it.
    versions
        Versions of what the result depends on.
    """

    method: str
    kind: Kind
    seed: int
    fraction: float
    scenario: str
    rounds: int
    accuracy: float
    mean_last_ten: float
    evidence: Evidence
    configuration: Mapping[str, Any]  # Any: what TOML can hold
    versions: Mapping[str, str]


def keep(run: Attacked, results: Path) -> None:
    """Write the result of a finished run."""
    folder = RunFolder(run.cell.folder)
    summary, config = folder.read_summary(), read_config(folder)
    assert config.attack is not None
    kept = Kept(
        method=run.method,
        kind=run.kind,
        seed=summary.seed,
        fraction=config.attack.fraction,
        scenario=summary.scenario or summary.dataset,
        rounds=summary.rounds,
        accuracy=summary.accuracy,
        mean_last_ten=summary.mean_last_ten,
        evidence=weigh(read_events(folder.journal)),
        configuration=config.to_plain(),
        versions=dict(summary.versions),
    )
    plain = asdict(kept)
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(
        results / f"{folder.path.name}.json", json.dumps(plain, indent=1).encode() + b"\n"
    )


def read_kept(results: Path) -> list[Kept]:
    """Read all result files in a folder, in the order of their names."""
    return [_read(path) for path in sorted(results.glob("*.json"))]


def _read(path: Path) -> Kept:
    try:
        plain = json.loads(path.read_bytes())
        kept = Kept(**plain | {"evidence": Evidence(**plain["evidence"])})
        require_known(kept.method, METHODS, "method must be one of")
        require_known(kept.kind, KINDS, "kind must be one of")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunFolderError(f"{path} must be a result of terrafl attack; {error}.") from error
    return kept
