"""Sending messages to nodes and waiting for the answers, never longer than a deadline."""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from flwr.app import Message
from flwr.serverapp import Grid

# Flower's loop polls every 3 seconds; one poll is one small request.
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.02, 1.0


class Arrival(NamedTuple):
    """A reply, or Flower's word that none will come, and how long it took."""

    message: Message
    seconds: float


def exchange(
    grid: Grid, messages: Iterable[Message], timeout_s: float
) -> tuple[dict[int, Arrival], dict[str, int]]:
    """Send messages, at most one to a node, and collect the replies until the deadline.

    Returns
    -------
    arrivals
        By node.
    owing
        Nodes that had not replied at the deadline, by the message they owe a reply to.
    """
    started = time.monotonic()
    owing = send(grid, messages)
    arrivals: dict[int, Arrival] = {}
    look_s = _FIRST_LOOK_S
    while owing:
        for message_id, message in pull(grid, owing).items():
            arrivals[owing.pop(message_id)] = Arrival(message, time.monotonic() - started)
        left_s = started + timeout_s - time.monotonic()
        if left_s <= 0 or not owing:
            break
        time.sleep(min(look_s, left_s))
        look_s = min(1.5 * look_s, _LONGEST_LOOK_S)
    return arrivals, owing


def send(grid: Grid, messages: Iterable[Message]) -> dict[str, int]:
    """Send messages; return the node that each was sent to, by message."""
    sent = list(messages)
    ids = list(grid.push_messages(sent)) if sent else []
    if len(ids) != len(sent):  # some grids leave out what could not be sent
        sent = [m for m in sent if m.metadata.message_id in set(ids)]
        ids = [m.metadata.message_id for m in sent]
    return {
        str(message_id): message.metadata.dst_node_id
        for message_id, message in zip(ids, sent, strict=True)
        if message_id
    }


def pull(grid: Grid, owing: Mapping[str, int]) -> dict[str, Message]:
    """Return the replies that have come, by the message they answer."""
    replies = {m.metadata.reply_to_message_id: m for m in grid.pull_messages(list(owing))}
    return {message_id: replies[message_id] for message_id in owing if message_id in replies}
