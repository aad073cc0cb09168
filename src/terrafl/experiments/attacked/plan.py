"""The runs of the attack benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Unpack

from terrafl.defences import KINDS, Kind
from terrafl.defences.guard import Guard
from terrafl.errors import require_known
from terrafl.experiments.api import Settings, configure
from terrafl.experiments.sweep import Cell
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
