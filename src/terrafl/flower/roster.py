"""Who is there: which node is which client, how much data each has, who owes a reply."""

import hashlib
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid
from numpy.typing import NDArray

from terrafl.errors import TerraflError
from terrafl.flower.exchange import pull, send
from terrafl.flower.reply_checks import too_large
from terrafl.flower.wire import identity_in, identity_question
from terrafl.records import Population, Refusal
from terrafl.runs import events

_log = logging.getLogger(__name__)

Identity = Literal["node-config", "public-key"]
"""Where a client's name comes from."""

_SIT_OUT_ROUNDS = 3
# What only somebody who sees the labels and the partitioning can tell.
_UNSEEN = ("mean_classes", "mean_distance", "redraws", "repaired", "distances", "labels")
_LOOK_S = 0.1


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
    # By message: the node, and the time of the question or the round of the request.
    _unanswered: dict[str, tuple[int, float]] = field(default_factory=dict, init=False)
    _owing: dict[str, tuple[int, float]] = field(default_factory=dict, init=False)

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
        deadline, refused = time.monotonic() + wait_s, []
        while True:
            refused += self._meet(grid)
            there, now = self.online(grid), time.monotonic()
            is_asking = any(now - asked < answer_s for _, asked in self._unanswered.values())
            if now >= deadline or (enough(there) and not is_asking):
                break
            time.sleep(min(_LOOK_S, deadline - now))
        if not there:
            raise TerraflError(
                f"no client could be reached within {wait_s:g} s: start the nodes, then start this "
                "server again with the same run folder to resume."
            )
        if not enough(there):
            _log.warning(
                "continuing with the %d clients that connected in %g s", len(there), wait_s
            )
        return refused

    def online(self, grid: Grid) -> dict[str, int]:
        """Return the node of every client that is connected now; the newest, if it has two."""
        connected = set(grid.get_node_ids())
        return {client: node for node, client in self._clients.items() if node in connected}

    def name(self, node: int) -> str:
        """Return the client on a node; ``node-ID`` if it has not said its name."""
        return self._clients.get(node, f"node-{node}")

    def population(self) -> Population:
        """Return everybody heard of."""
        return Population.of({client: max(1, size) for client, size in self.sizes.items()})

    def describe(self) -> events.Federation:
        """Return what a journal says of the clients; sizes only where all are known."""
        ids = sorted(self.sizes)
        sizes = [self.sizes[client] for client in ids]
        known = all(sizes)
        return events.Federation(
            clients=len(ids),
            examples=sum(sizes) if known else None,
            size_min=min(sizes) if known else None,
            size_median=float(np.median(sizes)) if known else None,
            size_max=max(sizes) if known else None,
            ids=ids,
            sizes=sizes if known else None,
            schema=events.SCHEMA,
            **dict.fromkeys(_UNSEEN),
        )

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
        return [
            Refusal(self._clients[node], "the reply came after its deadline")
            for node in sorted(_replies(grid, self._owing))
            if node in self._clients
        ]

    def _meet(self, grid: Grid) -> list[Refusal]:
        """Ask new nodes who they are, and hear those that have answered."""
        nodes = {node.node_id: node.public_key for node in grid.get_nodes()}
        new, now = [node for node in nodes if node not in self._asked], time.monotonic()
        self._asked |= set(new)
        asked = send(grid, map(identity_question, new))
        self._unanswered |= {message_id: (node, now) for message_id, node in asked.items()}
        came = _replies(grid, self._unanswered)
        said = {node: identity_in(message) for node, message in came.items()}
        names = {
            node: self._name(node, nodes.get(node, b""), claimed)
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


def _replies(grid: Grid, waiting: dict[str, tuple[int, float]]) -> dict[int, Message]:
    """Return the replies that have come, by node; they are no longer waited for."""
    owed = {message_id: node for message_id, (node, _) in waiting.items()}
    came = pull(grid, owed) if owed else {}
    return {waiting.pop(message_id)[0]: message for message_id, message in came.items()}
