"""FedAvgM: momentum on the server.

References
----------
Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification", 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.protocol import Algorithm, Mean, RunFacts
from terrafl.errors import require
from terrafl.records import Population, State, Update, Vector


@dataclass(slots=True, kw_only=True)
class FedAvgM(Algorithm):
    r"""Treat the mean update $\Delta = \sum_k w_k \theta^k - \theta$ as a step with momentum.

    .. math:: v \leftarrow \beta v - \Delta, \qquad \theta \leftarrow \theta - \eta_s v

    Parameters
    ----------
    beta
        Momentum, $\beta$. With $\beta = 0$ and $\eta_s = 1$ it is FedAvg, to the byte.
    server_learning_rate
        $\eta_s$. The effective step is $\eta_s / (1 - \beta)$: if a run diverges, try
        $\eta_s = 1 - \beta$.

    Notes
    -----
    One step is one aggregation, not one round. Buffers such as batch-norm statistics are averaged.
    """

    name: ClassVar[str] = "fedavgm"

    beta: float = 0.9
    server_learning_rate: float = 1.0
    _velocity: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require(0 <= self.beta < 1, "beta", self.beta, "at least 0 and below 1")
        rate = self.server_learning_rate
        require(0 < rate < float("inf"), "server_learning_rate", rate, "a finite number above 0")

    def begin(self, run: RunFacts) -> None:
        """Start at rest."""
        self._velocity = np.zeros(run.num_parameters)

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        r"""Return $\theta - \eta_s v$, and the mean of the buffers."""
        new = mean(received, updates)
        trained = slice(len(self._velocity))
        start = received[trained].astype(np.float64)
        self._velocity = self.beta * self._velocity + (start - new[trained])
        if self.beta > 0 or self.server_learning_rate != 1:
            new[trained] = start - self.server_learning_rate * self._velocity
        return new

    def state(self) -> State:
        """Return the velocity."""
        return {"velocity": self._velocity}

    def restore(self, state: State) -> None:
        """Take up the velocity."""
        self._velocity = state["velocity"]  # type: ignore[assignment]  # as stored
