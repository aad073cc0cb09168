"""What a Flower strategy has learnt, as plain values and arrays, and back.

Flower's strategies keep their state in attributes: momentum as a list or a dictionary of arrays,
the newest model as an ArrayRecord, an adaptive bound as a number. All of these are kept, for a
strategy and for those it wraps. Settings are not: they are the caller's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from terrafl.flower.model_arrays import to_numpy, to_record
from terrafl.flower.subset import wrapped

_NAME = "strategy"  # of all this in the state of the algorithm


@dataclass(slots=True, eq=False)
class StrategyState:
    """Reads and writes the state of a strategy.

    Parameters
    ----------
    strategy
        The strategy, as it is before its first round.
    """

    strategy: Strategy
    _settings: list[dict[str, object]] = field(init=False)

    def __post_init__(self) -> None:
        self._settings = [dict(vars(inner)) for inner in wrapped(self.strategy)]

    def collect(self) -> dict[str, Any]:  # Any: as State
        """Return the numbers that have changed, and each array under its place."""
        values: dict[str, Any] = {}
        arrays: dict[str, NDArray[np.generic]] = {}
        for depth, inner in enumerate(wrapped(self.strategy)):
            for name, value in vars(inner).items():
                place, before = f"{depth}/{name}", self._settings[depth].get(name)
                parts = _parts(value)
                if parts is not None:
                    kind, named = parts
                    values[place] = {"kind": kind, "names": list(named)}
                    for number, array in enumerate(named.values()):
                        arrays[f"{_NAME}/{place}/{number}"] = array
                elif isinstance(value, int | float | str) and value != before:
                    values[place] = {"kind": "value", "value": value}
        return {_NAME: values, **arrays}

    def restore(self, state: Mapping[str, Any]) -> None:  # Any: as State
        """Take up what :meth:`collect` returned."""
        inners = list(wrapped(self.strategy))
        for place, kept in state[_NAME].items():
            depth, _, name = place.partition("/")
            if kept["kind"] == "value":
                restored = kept["value"]
            else:
                names = kept["names"]
                parts = [state[f"{_NAME}/{place}/{i}"] for i in range(len(names))]
                restored = _whole(kept["kind"], dict(zip(names, parts, strict=True)))
            setattr(inners[int(depth)], name, restored)


def _parts(value: object) -> tuple[str, dict[str, NDArray[np.generic]]] | None:
    """Return the arrays in a value, by name; ``None`` if it is something else."""
    if isinstance(value, ArrayRecord):
        return "record", to_numpy(value)
    if isinstance(value, np.ndarray):
        return "array", {"": value}
    if isinstance(value, dict) and value and _are_arrays(value.values()):
        return "dict", dict(value)
    if isinstance(value, list) and value and _are_arrays(value):
        return "list", {str(i): array for i, array in enumerate(value)}
    return None


def _are_arrays(values: Iterable[object]) -> bool:
    return all(isinstance(value, np.ndarray | np.generic) for value in values)


def _whole(kind: str, parts: dict[str, NDArray[np.generic]]) -> object:
    if kind == "record":
        return to_record(parts)
    if kind == "array":
        return parts[""]
    return list(parts.values()) if kind == "list" else parts
