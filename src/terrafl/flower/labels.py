"""What a run on Flower is called in reports."""

from __future__ import annotations

from dataclasses import dataclass, fields

from flwr.serverapp.strategy import Strategy

from terrafl.flower.subset import wrapped
from terrafl.selection import Selector

__all__ = ["Labels", "labels_of"]


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
    given = [f for f in fields(selector) if f.init]  # type: ignore[arg-type]  # any dataclass
    pairs = ((f.name, getattr(selector, f.name), f.default) for f in given)
    return Labels(
        dataset=dataset,
        model=model,
        selector=type(selector).name,
        variant=", ".join(f"{n}={value}" for n, value, default in pairs if value != default),
        algorithm="+".join(type(inner).__name__ for inner in wrapped(strategy)).lower(),
        seed=seed,
    )
