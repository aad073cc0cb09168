"""Who is there: which node is which client, how much data each has, who owes a reply."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid
from numpy.typing import NDArray

from terrafl.errors import TerraflError
from terrafl.flower import wire
from terrafl.flower.border import too_large
from terrafl.flower.exchange import exchange, pull
from terrafl.selection import Population, Refusal, Report

__all__ = ["Identity", "Roster"]

_log = logging.getLogger(__name__)

Identity = Literal["node-config", "public-key"]
"""Where a client's name comes from."""

_SIT_OUT_ROUNDS = 3


@dataclass(slots=True)
class Roster:
    """The clients of a federation and the nodes that they are on now.

    Parameters
    ----------
    identity
        ``node-config``: the name that the client answers with, or else the digest of its node's
        public key. ``public-key``: that digest alone, whatever the client says.
    sizes
        Number of examples of every client heard of; 0 while unknown.
    """

    identity: Identity
    sizes: dict[str, int] = field(default_factory=dict)
    _clients: dict[int, str] = field(default_factory=dict, init=False)  # by node
    _asked: set[int] = field(default_factory=set, init=False)
    _unanswered: dict[str, int] = field(default_factory=dict, init=False)  # node by question
    _owing: dict[str, tuple[int, int]] = field(default_factory=dict, init=False)

    def wait(
        self,
        grid: Grid,
        enough: Callable[[Collection[str]], bool],
        *,
        wait_s: float,
        answer_s: float,
    ) -> list[Refusal]:
        """Wait until enough clients are there, or the time is up and somebody is.

        Parameters
        ----------
        grid
            The nodes.
        enough
            Whether these clients will do.
        wait_s
            Longest wait.
        answer_s
            Longest wait for the answers of nodes that are new.

        Returns
        -------
        refused
            New nodes that were turned away, and why.
        """
        deadline = time.monotonic() + wait_s
        refused = self._meet(grid, answer_s)
        while not enough(self.online(grid)) and time.monotonic() < deadline:
            time.sleep(min(0.5, max(0.0, deadline - time.monotonic())))
            refused += self._meet(grid, answer_s)
        there = self.online(grid)
        if not there:
            raise TerraflError(
                f"no client could be reached within {wait_s:g} s: start the nodes, then this "
                "server again with the same run folder to go on."
            )
        if not enough(there):
            _log.warning("going on with the %d clients that came in %g s", len(there), wait_s)
        return refused

    def online(self, grid: Grid) -> dict[str, int]:
        """Return the node of every client that is connected now; the newest, if it has two."""
        connected = set(grid.get_node_ids())
        return {client: node for node, client in self._clients.items() if node in connected}

    def name(self, node: int) -> str:
        """Return the client on a node; a name of its own for one that has not said."""
        return self._clients.get(node, f"node-{node}")

    def population(self) -> Population:
        """Return everybody heard of."""
        return Population.of({client: max(1, size) for client, size in self.sizes.items()})

    def learn(self, reports: Iterable[Report]) -> None:
        """Remember the sizes that accepted reports state."""
        self.sizes |= {report.client_id: report.num_examples for report in reports}

    def known_sizes(self) -> list[int]:
        """Return the sizes that are known."""
        return [size for size in self.sizes.values() if size > 0]

    def available(
        self, population: Population, online: Mapping[str, int], round: int
    ) -> NDArray[np.bool_] | None:
        """Return who can be drawn: connected and not still at work on an old request.

        A client that missed a deadline sits out until its reply has come, at most three rounds.
        """
        busy = {node for node, since in self._owing.values() if round - since <= _SIT_OUT_ROUNDS}
        free = {client for client, node in online.items() if node not in busy} or set(online)
        flags = np.array([client in free for client in population.ids.tolist()], dtype=np.bool_)
        return None if flags.all() else flags

    def owe(self, owing: Mapping[str, int], round: int) -> None:
        """Remember who did not reply in time, by the message they owe a reply to."""
        self._owing |= {message_id: (node, round) for message_id, node in owing.items()}

    def late(self, grid: Grid) -> list[Refusal]:
        """Return the replies that have come after their deadline."""
        owed = {message_id: node for message_id, (node, _) in self._owing.items()}
        came = pull(grid, owed) if owed else {}
        for message_id in came:
            del self._owing[message_id]
        names = {owed[message_id] for message_id in came}
        return [
            Refusal(self._clients[node], "the reply came after its deadline")
            for node in sorted(names)
            if node in self._clients
        ]

    def _meet(self, grid: Grid, answer_s: float) -> list[Refusal]:
        """Learn who new nodes are, without waiting again for those that would not say."""
        nodes = {node.node_id: node for node in grid.get_nodes()}
        new = [node for node in nodes if node not in self._asked]
        self._asked |= set(new)
        answers: dict[int, Message] = {}
        if self._unanswered:
            came = pull(grid, self._unanswered)
            answers |= {self._unanswered.pop(message_id): m for message_id, m in came.items()}
        if new:
            asked = exchange(grid, _questions(new), answer_s)
            answers |= {node: arrival.message for node, arrival in asked.arrivals.items()}
            self._unanswered |= asked.owing
        said = {node: _said(message) for node, message in answers.items()}
        names = {
            node: self._name(node, nodes[node].public_key if node in nodes else b"", claimed)
            for node, (claimed, _) in said.items()
        }
        return self._enrol(names, {names[node]: size for node, (_, size) in said.items()})

    def _name(self, node: int, public_key: bytes, claimed: str) -> str:
        if claimed and self.identity == "node-config":
            return claimed
        if public_key:
            return f"key-{hashlib.sha256(public_key).hexdigest()[:16]}"
        return self.name(node)

    def _enrol(self, names: Mapping[int, str], sizes: Mapping[str, int]) -> list[Refusal]:
        claims = {name: size for name, size in sizes.items() if size > 0}
        wild = too_large(claims, self.known_sizes())
        for node, name in names.items():
            if name in wild:
                continue
            self._clients.pop(node, None)
            self._clients[node] = name  # later nodes of the same name stand after earlier ones
            self.sizes[name] = sizes[name] or self.sizes.get(name, 0)
        return [Refusal(name, reason) for name, reason in sorted(wild.items())]


def _questions(nodes: Sequence[int]) -> Iterable[Message]:
    content = RecordDict({wire.RECORD: ConfigRecord({wire.QUESTION: "who"})})
    return [Message(content, node, f"query.{wire.ACTION}") for node in nodes]


def _said(message: Message) -> tuple[str, int]:
    """Return the name and size in an answer; empty and 0 where there is none."""
    if message.has_error():  # most likely the client app does not know the question
        return "", 0
    answer = message.content.config_records.get(wire.RECORD, ConfigRecord())
    name, size = answer.get(wire.CLIENT_ID), answer.get(wire.NUM_EXAMPLES)
    if not isinstance(name, str) or not name.isprintable() or len(name) > 100:
        name = ""
    return name, size if type(size) is int and size > 0 else 0
