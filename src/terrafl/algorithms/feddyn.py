"""FedDyn: a regulariser per client that aligns local and global optima.

References
----------
Acar et al., "Federated Learning Based on Dynamic Regularization", ICLR 2021.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from terrafl.algorithms.client_sums import ClientSums
from terrafl.algorithms.protocol import Algorithm, Array, LocalStep, Mean, RunFacts
from terrafl.errors import require
from terrafl.records import Population, State, Update, Vector


@dataclass(slots=True, kw_only=True)
class FedDyn(Algorithm):
    r"""Pull each client to the received model, shifted by the sum of its past updates $h_k$.

    .. math::
        \nabla F_k(y) + \alpha (y - \theta + h_k), \qquad
        h_k \leftarrow h_k + \theta^k - \theta, \qquad
        \theta \leftarrow \sum_{k \in S} w_k \theta^k + \frac{1}{N} \sum_{k=1}^{N} h_k

    This is the paper's form with $h_k = -\nabla_k / \alpha$: one vector per client, and no
    division by a small $\alpha$.

    Parameters
    ----------
    alpha
        Weight of the regulariser, $\alpha$. The paper tunes 0.1, 0.01 and 0.001: too large a value
        stops progress, too small a value diverges.
    evaluate
        Which model is evaluated and saved: the ``average`` of the participants' models, as in the
        authors' code, or the model that is ``sent`` next. Both scores are recorded.

    Notes
    -----
    State advances with every local training, so several times in a round for a client that a
    selector trains again. Buffers such as batch-norm statistics are averaged and never corrected.
    """

    name: ClassVar[str] = "feddyn"
    gives: ClassVar[tuple[str, ...]] = ("drift",)

    alpha: float = 0.01
    evaluate: Literal["average", "sent"] = "average"
    _clients: ClientSums = field(init=False, repr=False)
    _average: Vector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require(0 < self.alpha < float("inf"), "alpha", self.alpha, "a finite number above 0")

    @property
    def corrects_gradients(self) -> bool:
        """Every gradient is corrected."""
        return True

    def correct_gradient(self, at: LocalStep[Array]) -> Array:
        r"""Return $g(y) + \alpha (y - \theta + h_k)$."""
        return at.gradient + self.alpha * (at.parameter - at.received + at.given["drift"])

    def begin(self, run: RunFacts) -> None:
        """Start without drift."""
        self._clients = ClientSums(run, *self.gives)
        self._average = run.model

    def give(self, client_id: str, population: Population) -> Mapping[str, Vector]:
        """Return $h_k$."""
        return self._clients.get(client_id)

    def learn(self, received: Vector, updates: Sequence[Update], population: Population) -> None:
        """Add each update to its client's drift, and to the sum of all."""
        for update in updates:
            drift = self._clients.get(update.client_id)["drift"]
            self._clients.put(update.client_id, {"drift": drift + (update.vector - received)})

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the mean of the models plus the mean drift of all clients."""
        self._average = mean(received, updates)
        drift = self._clients.sum("drift") / len(population)
        return (self._average + drift).astype(np.float32)

    def readouts(self, model: Vector) -> Mapping[str, Vector]:
        """Return the average and the model that is sent, the one to report first."""
        both = {"average": self._average, "sent": model}
        return both if self.evaluate == "average" else {"sent": model, **both}

    def state(self) -> State:
        """Return the drifts and the average."""
        return {"average": self._average, **self._clients.state()}

    def restore(self, state: State) -> None:
        """Take up the drifts and the average."""
        self._average = state["average"]  # type: ignore[assignment]  # as stored
        self._clients.restore(state)
