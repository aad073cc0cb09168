"""What a run on Flower is called in reports, and what it is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flwr.app import ArrayRecord

from terrafl.flower.subset import wrapped
from terrafl.runs import Labels
from terrafl.settings import to_plain, to_plain_named, variant_of

if TYPE_CHECKING:
    from terrafl.flower.strategy import ClientSelection


def labels_of(run: ClientSelection, settings: Mapping[str, Any]) -> Labels:
    """Name a run by its parts; a strategy by its class and those that it wraps."""
    strategies = "+".join(type(inner).__name__ for inner in wrapped(run.strategy)).lower()
    average = "" if run.average is None else f"average={run.average.half_life:g}"
    own = "" if run.algorithm is None else variant_of(run.algorithm, {})
    shared = {key: value for key, value in settings.items() if key not in ("seed", "selector")}
    digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()
    return Labels(
        dataset=settings["dataset"],
        scenario="",
        model=settings["model"],
        selector=type(run.selector).name,
        algorithm=strategies if run.algorithm is None else run.algorithm.name,
        algorithm_variant=",".join(filter(None, [own, average])),
        seed=settings["seed"],
        profile="",
        variant=variant_of(run.selector, {}),
        experiment=digest[:12],
    )


def settings_of(run: ClientSelection, arrays: ArrayRecord) -> dict[str, Any]:  # Any: TOML values
    """Return what the parts of a run are, in the words of a configuration file."""
    return {
        "strategy": [
            {"name": type(inner).__name__, **_scalars(vars(inner))}
            for inner in wrapped(run.strategy)
        ],
        "selector": to_plain_named(run.selector),
        "guard": to_plain(run.guard) if run.guard is not None else False,
        **({} if run.algorithm is None else {"algorithm": to_plain_named(run.algorithm)}),
        **({} if run.average is None else {"average": to_plain(run.average)}),
        "arrays": [f"{name} {tuple(array.shape)}" for name, array in arrays.items()],
    }


def _scalars(values: Mapping[str, object]) -> dict[str, bool | int | float | str]:
    """Return the settings among a strategy's attributes: its public scalars."""
    return {
        name: value
        for name, value in sorted(values.items())
        if isinstance(value, bool | int | float | str) and not name.startswith("_")
    }
