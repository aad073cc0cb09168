"""SCAFFOLD: control variates that cancel client drift.

References
----------
Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020,
Algorithm 1 with option II.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from terrafl.algorithms.client_sums import ClientSums
from terrafl.algorithms.protocol import (
    Algorithm,
    Array,
    LocalStep,
    Mean,
    RunFacts,
)
from terrafl.errors import require
from terrafl.records import Population, State, Update, Vector


@dataclass(slots=True, kw_only=True)
class Scaffold(Algorithm):
    r"""Correct every gradient by the difference of two control variates.

    .. math::
        y \leftarrow y - \eta (g(y) - c_k + c), \qquad
        c_k^+ = c_k - c + \frac{\theta - y}{\sum_i \eta a_i}, \qquad
        \theta \leftarrow \theta + \eta_g (\sum_k w_k \theta^k - \theta)

    and $c = \sum_k p_k c_k$ over all clients, those that never took part included with 0. Without
    momentum $\sum_i \eta a_i = \tau \eta$, option II of the paper; with momentum the $a_i$ are the
    coefficients of the gradients, so that $c_k^+$ stays a mean of gradients.

    Parameters
    ----------
    server_learning_rate
        $\eta_g$.

    Notes
    -----
    The paper averages plainly: $w_k = 1 / |S|$, $p_k = 1 / N$. A selector that averages by size
    has $p_k$ by size, too. State advances with every local training, so several times in a round
    for a client that a selector trains again. A weight decay is part of the gradient that $c_k$
    estimates. Adam is refused: its steps are no fixed sum of gradients. Buffers such as
    batch-norm statistics are averaged and never corrected.
    """

    name: ClassVar[str] = "scaffold"
    needs_steps: ClassVar[bool] = True
    shares: ClassVar[tuple[str, ...]] = ("control",)
    gives: ClassVar[tuple[str, ...]] = ("client_control",)
    traffic: ClassVar[tuple[float, float]] = (1, 1)

    server_learning_rate: float = 1.0
    _clients: ClientSums = field(init=False, repr=False)
    _sent: Vector = field(init=False, repr=False)  # the population may change before it is used
    _by_size: bool = field(default=False, init=False, repr=False)
    _num_parameters: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        rate = self.server_learning_rate
        require(0 < rate < float("inf"), "server_learning_rate", rate, "a finite number above 0")

    @property
    def corrects_gradients(self) -> bool:
        """Every gradient is corrected."""
        return True

    def correct_gradient(self, at: LocalStep[Array]) -> Array:
        """Return $g(y) - c_k + c$."""
        return at.gradient - at.given["client_control"] + at.shared["control"]

    def begin(self, run: RunFacts) -> None:
        """Start with controls of 0; refuse Adam."""
        run.require_sgd(self.name)
        self._clients = ClientSums(run, *self.gives)
        self._by_size, self._num_parameters = run.averaging == "size", run.num_parameters

    def shared(self, population: Population) -> Mapping[str, Vector]:
        """Return $c$."""
        total = int(population.sizes.sum()) if self._by_size else len(population)
        self._sent = (self._clients.sum("client_control") / total).astype(np.float32)
        return {"control": self._sent}

    def give(self, client_id: str, population: Population) -> Mapping[str, Vector]:
        """Return $c_k$."""
        return self._clients.get(client_id)

    def learn(self, received: Vector, updates: Sequence[Update], population: Population) -> None:
        """Replace the controls of the clients that trained, and their sum."""
        sizes = population.sizes[population.index([update.client_id for update in updates])]
        for update, size in zip(updates, sizes, strict=True):
            old = self._clients.get(update.client_id)["client_control"]
            new = old - self._sent + (received - update.vector) / np.float32(update.step_sum)
            weight = float(size) if self._by_size else 1.0
            self._clients.put(update.client_id, {"client_control": new}, weight, "client_control")

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        r"""Return $\theta + \eta_g (\sum_k w_k \theta^k - \theta)$, and the mean of the buffers."""
        new = mean(received, updates)
        if self.server_learning_rate != 1:
            trained = slice(self._num_parameters)
            start = received[trained].astype(np.float64)
            new[trained] = start + self.server_learning_rate * (new[trained] - start)
        return new

    def state(self) -> State:
        """Return the controls."""
        return self._clients.state()

    def restore(self, state: State) -> None:
        """Take up the controls."""
        self._clients.restore(state)
