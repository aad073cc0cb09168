"""FedDC: decouple each client's drift from its model and correct it.

References
----------
Gao et al., "FedDC: Federated Learning with Non-IID Data via Local Drift Decoupling and
Correction", CVPR 2022.
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
class FedDC(Algorithm):
    r"""Pull each client to $\theta - h_k$ and correct its gradient as SCAFFOLD does.

    .. math::
        \nabla F_k(y) + \alpha (y - \theta + h_k) + s / \hat w_k - s_k, \qquad
        h_k \leftarrow h_k + \theta^k - \theta, \qquad
        s_k \leftarrow s_k - s / \hat w_k + \frac{\theta - \theta^k}{\sum_i \eta a_i}

    with $s = \frac{1}{N} \sum_k \hat w_k s_k$ and
    $\theta \leftarrow \sum_{k \in S} w_k \theta^k + \frac{1}{N} \sum_{k=1}^{N} h_k$.
    $\hat w_k$ is the client's share of the examples times $N$, or 1 under plain averaging.

    Parameters
    ----------
    alpha
        Weight of the pull, $\alpha$.

    Notes
    -----
    State advances with every local training, so several times in a round for a client that a
    selector trains again. Adam is refused: its steps are no fixed sum of gradients. Buffers such
    as batch-norm statistics are averaged and never corrected.
    """

    name: ClassVar[str] = "feddc"
    needs_steps: ClassVar[bool] = True
    gives: ClassVar[tuple[str, ...]] = ("drift", "correction")
    traffic: ClassVar[tuple[float, float]] = (1, 1)

    alpha: float = 0.01
    _clients: ClientSums = field(init=False, repr=False)
    _sent: dict[str, Vector] = field(init=False, repr=False)  # the corrections of an iteration
    _by_size: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        require(0 <= self.alpha < float("inf"), "alpha", self.alpha, "a finite number, 0 or more")

    @property
    def corrects_gradients(self) -> bool:
        """Every gradient is corrected."""
        return True

    def correct_gradient(self, at: LocalStep[Array]) -> Array:
        r"""Return $g(y) + \alpha (y - \theta + h_k) + s / \hat w_k - s_k$."""
        pull = self.alpha * (at.parameter - at.received + at.given["drift"])
        return at.gradient + pull + at.given["correction"]

    def begin(self, run: RunFacts) -> None:
        """Start without drift and correction; refuse Adam."""
        run.require_sgd(self.name)
        self._clients = ClientSums(run, "drift", "control")
        self._by_size, self._sent = run.averaging == "size", {}

    def give(self, client_id: str, population: Population) -> Mapping[str, Vector]:
        r"""Return $h_k$ and $s / \hat w_k - s_k$."""
        own = self._clients.get(client_id)
        share = len(population) * self._weight(client_id, population)
        correction = (self._clients.sum("control") / share - own["control"]).astype(np.float32)
        self._sent[client_id] = correction
        return {"drift": own["drift"], "correction": correction}

    def _weight(self, client_id: str, population: Population) -> float:
        r"""Return $\hat w_k$, times the mean size where updates are averaged by size."""
        return float(population.sizes[population.index([client_id])[0]]) if self._by_size else 1.0

    def learn(self, received: Vector, updates: Sequence[Update], population: Population) -> None:
        """Replace drift and control of the clients that trained."""
        for update in updates:
            moved = update.vector - received
            control = -self._sent[update.client_id] - moved / np.float32(update.step_sum)
            drift = self._clients.get(update.client_id)["drift"] + moved
            weight = self._weight(update.client_id, population)
            new = {"drift": drift, "control": control}
            self._clients.put(update.client_id, new, weight, "control")
        self._sent.clear()

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the mean of the models plus the mean drift of all clients."""
        drift = self._clients.sum("drift") / len(population)
        return (mean(received, updates) + drift).astype(np.float32)

    def state(self) -> State:
        """Return drifts and controls."""
        return self._clients.state()

    def restore(self, state: State) -> None:
        """Take up drifts and controls."""
        self._clients.restore(state)
