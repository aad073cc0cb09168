"""Letting a Flower strategy sample, and leaving it no choice.

A strategy samples nodes and builds their messages in one call. It is therefore shown a grid of
just the nodes that were chosen, and asked to take all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from flwr.app import Message, RecordDict
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from flwr.supercore.run import Run


class SubsetGrid(Grid):
    """A grid that shows only some of its nodes.

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

    def set_run(self, run: Run) -> None:
        """Set the run of the whole grid."""
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        """The run of the whole grid."""
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Create a message."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> list[int]:
        """Return the ids of the nodes that are shown."""
        return list(self._node_ids)

    def get_nodes(self) -> list[NodeInfo]:
        """Return what is known of the nodes that are shown."""
        shown = set(self._node_ids)
        return [node for node in self._grid.get_nodes() if node.node_id in shown]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies that have come."""
        return self._grid.pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages and wait for the replies."""
        return self._grid.send_and_receive(messages, timeout=timeout)


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
