"""FedNova: average normalised updates, so that more local steps do not mean more weight.

References
----------
Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated
Optimization", NeurIPS 2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from terrafl.algorithms.fedprox import FedProx
from terrafl.algorithms.protocol import (
    Mean,
    RunFacts,
)
from terrafl.errors import ConfigurationError
from terrafl.records import Population, Update, Vector


@dataclass(slots=True, kw_only=True)
class FedNova(FedProx):
    r"""Divide each update by the sum of its gradients' coefficients, $\|a_k\|_1$.

    .. math::
        \theta \leftarrow \theta + \tau_{eff} \sum_k w_k \frac{\theta^k - \theta}{\|a_k\|_1},
        \qquad \tau_{eff} = \sum_k w_k \|a_k\|_1

    For SGD, $\|a_k\|_1$ is the number of steps. Momentum and the proximal term change the
    coefficients, see :func:`coefficient_sum`. Clients that all take as many steps give FedAvg (or
    FedProx), to the byte.

    Parameters
    ----------
    mu
        Weight of a proximal term as in FedProx, $\mu$; 0 has none.

    Notes
    -----
    Weights are those of the participants, normalised. Adam is refused: its steps are no fixed sum
    of gradients. Buffers such as batch-norm statistics are averaged.
    """

    name: ClassVar[str] = "fednova"
    needs_steps: ClassVar[bool] = True

    mu: float = 0.0
    _momentum: float = field(default=0.0, init=False, repr=False)
    _num_parameters: int = field(default=0, init=False, repr=False)

    def begin(self, run: RunFacts) -> None:
        """Refuse Adam, and a proximal term where the momentum is not known."""
        run.require_sgd(self.name)
        if self.mu > 0 and run.momentum is None:
            raise ConfigurationError(
                f"{self.name} with mu > 0 must know the clients' momentum; it is not known on this "
                "federation: use mu = 0."
            )
        self._momentum, self._num_parameters = run.momentum or 0.0, run.num_parameters

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the model moved by the mean of normalised updates."""
        norms = np.array([self._coefficients(update) for update in updates])
        weights = np.array([update.weight for update in updates])
        if np.all(norms == norms[0]) or not weights.any():
            return mean(received, updates)
        effective = float(weights @ norms / weights.sum())
        return mean(
            received,
            [
                replace(update, vector=self._scaled(received, update.vector, effective / norm))
                for update, norm in zip(updates, norms, strict=True)
            ],
        )

    def _coefficients(self, update: Update) -> float:
        if not self.mu:
            return update.step_sum
        plain = coefficient_sum(update.steps, 1.0, self._momentum)
        rate = update.step_sum / plain
        return rate * coefficient_sum(update.steps, rate, self._momentum, self.mu)

    def _scaled(self, received: Vector, vector: Vector, factor: float) -> Vector:
        scaled = vector.copy()
        trained = slice(self._num_parameters)
        start = received[trained].astype(np.float64)
        scaled[trained] = start + factor * (vector[trained] - start)
        return scaled


def coefficient_sum(steps: int, rate: float, momentum: float = 0.0, pull: float = 0.0) -> float:
    r"""Return $\|a\|_1$: how often the gradients of a local training count, all in all.

    Every gradient is replaced by 1, and the distance from the start is followed through
    $v \leftarrow \rho v + 1 - \mu d$, $d \leftarrow d + \eta v$. The sum is $d / \eta$.

    Parameters
    ----------
    steps, rate, momentum
        $\tau$, $\eta$ and $\rho$.
    pull
        Weight of a proximal term, $\mu$.

    Examples
    --------
    >>> coefficient_sum(5, 0.1)
    5.0
    >>> coefficient_sum(2, 0.1, momentum=0.5)  # 1 + (1 + 0.5)
    2.5
    >>> round(coefficient_sum(2, 0.1, pull=1.0), 12)  # 1 + (1 - 0.1)
    1.9
    """
    distance = velocity = 0.0  # in units of the learning rate
    for _ in range(steps):
        velocity = momentum * velocity + 1 - pull * rate * distance
        distance += velocity
    return distance
