"""What a run on Flower is called in reports, and what it is made of."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Strategy

from terrafl.defences import Guard
from terrafl.flower.subset import wrapped
from terrafl.runs import Labels
from terrafl.selection import Selector
from terrafl.settings import to_plain, to_plain_named, variant_of


def labels_of(selector: Selector, strategy: Strategy, settings: Mapping[str, Any]) -> Labels:
    """Name a run by its parts; a strategy by its class and those that it wraps."""
    shared = {key: value for key, value in settings.items() if key not in ("seed", "selector")}
    digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()
    return Labels(
        dataset=settings["dataset"],
        scenario="",
        model=settings["model"],
        selector=type(selector).name,
        algorithm="+".join(type(inner).__name__ for inner in wrapped(strategy)).lower(),
        seed=settings["seed"],
        profile="",
        variant=variant_of(selector, {}),
        experiment=digest[:12],
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
