"""What a run on Flower is called in reports, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp.strategy import Strategy

from terrafl.experiments.naming import variant_of
from terrafl.flower.subset import wrapped
from terrafl.guard import Guard
from terrafl.selection import Selector
from terrafl.settings import to_plain, to_plain_named

__all__ = ["Labels", "labels_of", "settings_of", "told"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The names in a summary; see :class:`terrafl.runs.Summary`."""

    dataset: str
    model: str
    selector: str
    variant: str
    algorithm: str
    seed: int


def labels_of(
    selector: Selector, strategy: Strategy, *, dataset: str, model: str, seed: int
) -> Labels:
    """Name a run by its parts; a strategy by its class and those that it wraps."""
    return Labels(
        dataset=dataset,
        model=model,
        selector=type(selector).name,
        variant=variant_of(selector, {}),
        algorithm="+".join(type(inner).__name__ for inner in wrapped(strategy)).lower(),
        seed=seed,
    )


def settings_of(
    selector: Selector, strategy: Strategy, guard: Guard | None, arrays: ArrayRecord
) -> dict[str, Any]:  # Any: what TOML can hold
    """Return what the parts of a run are, in the words of a configuration file."""
    return {
        "strategy": [
            {"name": type(inner).__name__, **_scalars(vars(inner))} for inner in wrapped(strategy)
        ],
        "selector": to_plain_named(selector),
        "guard": to_plain(guard) if guard is not None else False,
        "arrays": [f"{name} {tuple(array.shape)}" for name, array in arrays.items()],
    }


def _scalars(values: Mapping[str, object]) -> dict[str, bool | int | float | str]:
    """Return the settings among a strategy's attributes: its public scalars."""
    return {
        name: value
        for name, value in sorted(values.items())
        if isinstance(value, bool | int | float | str) and not name.startswith("_")
    }


def told(config: ConfigRecord | None) -> dict[str, Any]:  # Any: what TOML can hold
    """Return what clients are told in every round, as far as a configuration file can hold it."""
    return {k: v for k, v in (config or {}).items() if not isinstance(v, bytes)}
