"""MOON: contrast a client's features with those of the received and of its previous model.

References
----------
Li, He and Song, "Model-Contrastive Federated Learning", CVPR 2021.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from terrafl.algorithms.protocol import Algorithm, Mean, RunFacts
from terrafl.errors import require
from terrafl.records import ClientVectors, Population, State, Update, Vector

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True, kw_only=True)
class Moon(Algorithm):
    r"""Draw features $z$ to those of the received model, away from the previous local model's.

    .. math::
        F_k(y) - \mu \log \frac{e^{\cos(z, z_{glob}) / T}}
                               {e^{\cos(z, z_{glob}) / T} + e^{\cos(z, z_{prev}) / T}}

    Parameters
    ----------
    mu
        Weight of the contrastive term, $\mu$. The paper tunes 0.1, 1, 5 and 10. 0 is FedAvg, to
        the byte.
    temperature
        $T$.

    Notes
    -----
    Features are the final layer's input; a projection head, as in the paper, is part of the
    network if it has one. The previous model is that of the client's last local training, in the
    same round too. A client that trains for the first time has no contrastive term. The two
    further models are evaluated on every mini-batch, without gradients: two forward passes more,
    which the run counts.
    """

    name: ClassVar[str] = "moon"
    gives: ClassVar[tuple[str, ...]] = ("previous",)
    extra_passes: ClassVar[int] = 2

    mu: float = 1.0
    temperature: float = 0.5
    _clients: ClientVectors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require(0 <= self.mu < float("inf"), "mu", self.mu, "a finite number of at least 0")
        warm = 0 < self.temperature < float("inf")
        require(warm, "temperature", self.temperature, "a finite number above 0")

    @property
    def uses_features(self) -> bool:
        """With a weight of 0 nothing is added."""
        return self.mu > 0

    def local_loss(
        self, features: Tensor, received_features: Tensor, given_features: Mapping[str, Tensor]
    ) -> Tensor:
        r"""Return $\mu \log(1 + e^{(\cos(z, z_{prev}) - \cos(z, z_{glob})) / T})$."""
        near = _cosine(features, received_features)
        far = _cosine(features, given_features["previous"])
        difference = (far - near) / self.temperature
        return self.mu * difference.logaddexp(0 * difference)

    def begin(self, run: RunFacts) -> None:
        """Start without previous models."""
        self._clients = run.client_vectors(self.gives)

    def give(self, client_id: str, population: Population) -> Mapping[str, Vector]:
        """Return the client's previous model, if it has one."""
        return self._clients.get(client_id) if self.mu and client_id in self._clients else {}

    def learn(self, received: Vector, updates: Sequence[Update], population: Population) -> None:
        """Keep the models of the clients that trained."""
        for update in updates if self.mu else ():
            self._clients.put(update.client_id, {"previous": update.vector})

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the mean."""
        return mean(received, updates)

    def state(self) -> State:
        """Return where the previous models are."""
        return self._clients.state()

    def restore(self, state: State) -> None:
        """Take up the previous models."""
        self._clients.restore(state)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    lengths: Tensor = a.norm(dim=1) * b.norm(dim=1)
    return (a * b).sum(1) / lengths.clamp(min=1e-8)
