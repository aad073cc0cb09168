"""An algorithm with client and server state, as simple as can be."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from terrafl.algorithms import Algorithm


@dataclass(slots=True, kw_only=True)
class Drifting(Algorithm):
    r"""Clients are pulled along their last update $d_k$ and along the mean of all, $m$.

    The gradient gains $a m + b d_k$; $m \leftarrow m / 2 + (\theta' - \theta) / 2$ and
    $d_k \leftarrow \theta^k - \theta$ after every iteration.
    """

    name: ClassVar[str] = "drifting"
    shares: ClassVar[tuple[str, ...]] = ("mean",)
    gives: ClassVar[tuple[str, ...]] = ("last", "count")
    traffic: ClassVar[tuple[float, float]] = (1, 0)

    along_mean: float = 0.3
    along_last: float = 0.2
    _mean: object = field(default=None, init=False, repr=False)
    _clients: object = field(default=None, init=False, repr=False)

    @property
    def corrects_gradients(self) -> bool:
        return True

    def correct_gradient(self, at):
        along = self.along_mean * at.shared["mean"] + self.along_last * at.given["last"]
        return at.gradient + along

    def begin(self, run):
        self._mean = np.zeros_like(run.model)
        self._clients = run.client_vectors(self.gives)

    def shared(self, population):
        return {"mean": self._mean}

    def give(self, client_id, population):
        return self._clients.get(client_id)

    def learn(self, received, updates: Sequence, population):
        for update in updates:
            count = self._clients.get(update.client_id)["count"] + np.float32(1)
            moved = update.vector - received
            self._clients.put(update.client_id, {"last": moved, "count": count})

    def aggregate(self, received, updates, population, mean):
        new = mean(received, updates)
        self._mean = np.float32(0.5) * self._mean + np.float32(0.5) * (new - received)
        return new

    def state(self):
        return {"mean": self._mean, "clients": self._clients.state()}

    def restore(self, state):
        self._mean = state["mean"]
        self._clients.restore(state["clients"])
