"""What a run on Flower is called in reports, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Strategy

from terrafl.experiments.naming import variant_of
from terrafl.flower.subset import wrapped
from terrafl.guard import Guard
from terrafl.selection import Selector
from terrafl.settings import to_plain, to_plain_named

__all__ = ["Labels", "labels_of", "settings_of"]


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
        "strategy": [type(inner).__name__ for inner in wrapped(strategy)],
        "selector": to_plain_named(selector),
        "guard": to_plain(guard) if guard is not None else False,
        "arrays": [f"{name} {tuple(array.shape)}" for name, array in arrays.items()],
    }
