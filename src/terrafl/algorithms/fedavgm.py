"""FedAvgM: momentum on the server.

References
----------
Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification", 2019.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from terrafl.algorithms.protocol import RunFacts
from terrafl.algorithms.server_optimizer import Floats, ServerOptimizer


@dataclass(slots=True, kw_only=True)
class FedAvgM(ServerOptimizer):
    r"""Treat the mean update $\Delta = \sum_k w_k \theta^k - \theta$ as a step with momentum.

    .. math:: v \leftarrow \beta v + \Delta, \qquad \theta \leftarrow \theta + \eta_s v

    Parameters
    ----------
    beta
        Momentum, $\beta$. With $\beta = 0$ and $\eta_s = 1$ it is FedAvg.
    server_learning_rate
        $\eta_s$. The effective step is $\eta_s / (1 - \beta)$: if a run diverges, try
        $\eta_s = 1 - \beta$.

    Notes
    -----
    One step is one aggregation, not one round. Buffers such as batch-norm statistics are averaged.
    The paper writes $-v$ for $v$.
    """

    name: ClassVar[str] = "fedavgm"

    beta: float = 0.9

    def begin(self, run: RunFacts) -> None:
        """Start at rest."""
        self._moments = {"velocity": np.zeros(run.num_parameters)}

    def direction(self, delta: Floats) -> Floats:
        """Return the velocity."""
        self._moments["velocity"] = self.beta * self._moments["velocity"] + delta
        return self._moments["velocity"]
