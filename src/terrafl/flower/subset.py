"""Letting a Flower strategy sample, and leaving it no choice.

A strategy samples nodes and builds their messages in one call. It is therefore shown a grid of
just the nodes that were chosen, and asked to take all of them.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy


@Grid.register
class SubsetGrid:
    """A grid that shows only some of its nodes; all else is that of the whole.

    Parameters
    ----------
    grid
        The whole.
    node_ids
        Who is shown.
    """

    def __init__(self, grid: Grid, node_ids: Iterable[int]) -> None:
        self._grid = grid
        self._node_ids = list(node_ids)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # of the whole grid
        return getattr(self._grid, name)

    def get_node_ids(self) -> list[int]:
        """Return the ids of the nodes that are shown."""
        return list(self._node_ids)

    def get_nodes(self) -> list[NodeInfo]:
        """Return what is known of the nodes that are shown."""
        shown = set(self._node_ids)
        return [node for node in self._grid.get_nodes() if node.node_id in shown]


def wrapped(strategy: Strategy) -> Iterator[Strategy]:
    """Yield a strategy and those that it wraps, outermost first."""
    inner: Strategy | None = strategy
    while inner is not None:
        yield inner
        inner = getattr(inner, "strategy", None)


def weight_key(strategy: Strategy) -> str:
    """Return the metric by which a strategy weighs its clients."""
    keys = (getattr(inner, "weighted_by_key", None) for inner in wrapped(strategy))
    return next((key for key in keys if isinstance(key, str)), "num-examples")


_EVERYBODY = {"fraction_train": 1.0, "min_train_nodes": 1, "min_available_nodes": 1}


@contextmanager
def taking_everybody(strategy: Strategy) -> Iterator[None]:
    """Let a strategy train all the nodes it sees, however few, inside the block."""
    kept = [
        (inner, name, vars(inner)[name])
        for inner in wrapped(strategy)
        for name in _EVERYBODY
        if name in vars(inner)
    ]
    for inner, name, _ in kept:
        setattr(inner, name, _EVERYBODY[name])
    try:
        yield
    finally:
        for inner, name, value in kept:
            setattr(inner, name, value)


def nodes_to_evaluate(strategy: Strategy, available: int) -> int:
    """Return how many nodes a strategy would wait for, without end, before it evaluates."""
    for inner in wrapped(strategy):
        settings = vars(inner)
        if "fraction_evaluate" in settings:
            fraction = settings["fraction_evaluate"]
            sampled = max(int(available * fraction), settings.get("min_evaluate_nodes", 0))
            return max(sampled, settings.get("min_available_nodes", 0)) if fraction else 0
    return 0
