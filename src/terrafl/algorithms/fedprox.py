"""FedProx: keep local models near the one they started from.

References
----------
Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020.
"""

from dataclasses import dataclass
from typing import ClassVar

from terrafl.algorithms.fedavg import FedAvg
from terrafl.algorithms.protocol import Array, LocalStep
from terrafl.errors import require


@dataclass(slots=True, kw_only=True)
class FedProx(FedAvg):
    r"""Add a proximal term to the local loss $F_k$ and average the models.

    .. math:: h_k(\theta) = F_k(\theta) + \frac{\mu}{2} \|\theta - \theta_{r,t}\|^2

    Parameters
    ----------
    mu
        Weight of the proximal term, $\mu$; 0 is FedAvg.

    Notes
    -----
    The anchor $\theta_{r,t}$ is the model that the client received in this iteration, not the
    one that opened the round. The gradient is corrected exactly, by $\mu (\theta -
    \theta_{r,t})$, after back-propagation: nothing is added to the loss that is reported.
    """

    name: ClassVar[str] = "fedprox"

    mu: float = 0.1

    def __post_init__(self) -> None:
        require(0 <= self.mu < float("inf"), "mu", self.mu, "a finite number of at least 0")

    @property
    def corrects_gradients(self) -> bool:
        """With a weight of 0 there is nothing to correct."""
        return self.mu > 0

    def correct_gradient(self, at: LocalStep[Array]) -> Array:
        r"""Return $\nabla F_k(\theta) + \mu (\theta - \theta_{r,t})$."""
        return at.gradient + self.mu * (at.parameter - at.received)
