"""FedAdagrad, FedAdam and FedYogi: adaptive optimisers on the server.

References
----------
Reddi et al., "Adaptive Federated Optimization", ICLR 2021, Algorithm 2.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from terrafl.algorithms.protocol import RunFacts
from terrafl.algorithms.server_optimizer import Floats, ServerOptimizer


@dataclass(slots=True, kw_only=True)
class Adaptive(ServerOptimizer):
    r"""Treat the mean update $\Delta = \sum_k w_k \theta^k - \theta$ as a gradient.

    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1) \Delta, \qquad
        \theta \leftarrow \theta + \eta_s \frac{m}{\sqrt{v} + \tau}

    with $m = 0$ and $v = \tau^2$ at the start, and without bias correction, as published. The
    subclasses say how $v$ follows $\Delta^2$.

    Parameters
    ----------
    beta1, beta2
        Decay of $m$ and of $v$.
    tau
        Degree of adaptivity, $\tau$.
    server_learning_rate
        $\eta_s$. It decides the result: tune it on a grid of $10^{k/2}$.

    Notes
    -----
    One step is one aggregation, not one round. Buffers such as batch-norm statistics are averaged.
    """

    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3
    server_learning_rate: float = 0.01

    def begin(self, run: RunFacts) -> None:
        r"""Start with $m = 0$ and $v = \tau^2$."""
        square = np.full(run.num_parameters, self.tau**2)
        self._moments = {"mean": np.zeros(run.num_parameters), "square": square}

    @abstractmethod
    def follow(self, square: Floats, new: Floats) -> Floats:
        r"""Return the next $v$, given $v$ and $\Delta^2$."""
        ...

    def direction(self, delta: Floats) -> Floats:
        r"""Return $m / (\sqrt{v} + \tau)$."""
        mean = self.beta1 * self._moments["mean"] + (1 - self.beta1) * delta
        square = self.follow(self._moments["square"], delta**2)
        self._moments = {"mean": mean, "square": square}
        return mean / (np.sqrt(square) + self.tau)


@dataclass(slots=True, kw_only=True)
class FedAdagrad(Adaptive):
    r"""Sum the squares, $v \leftarrow v + \Delta^2$; see :class:`Adaptive` for the rest.

    ``beta1`` is 0 unless set, as published, and ``beta2`` is not used.
    """

    name: ClassVar[str] = "fedadagrad"

    beta1: float = 0.0
    server_learning_rate: float = 0.1

    def follow(self, square: Floats, new: Floats) -> Floats:
        r"""Return $v + \Delta^2$."""
        return square + new


@dataclass(slots=True, kw_only=True)
class FedAdam(Adaptive):
    r"""Average the squares, $v \leftarrow \beta_2 v + (1 - \beta_2) \Delta^2$.

    See :class:`Adaptive` for the rest.
    """

    name: ClassVar[str] = "fedadam"

    def follow(self, square: Floats, new: Floats) -> Floats:
        r"""Return $\beta_2 v + (1 - \beta_2) \Delta^2$."""
        return self.beta2 * square + (1 - self.beta2) * new


@dataclass(slots=True, kw_only=True)
class FedYogi(Adaptive):
    r"""Follow the squares' sign, $v \leftarrow v - (1 - \beta_2) \Delta^2 sgn(v - \Delta^2)$.

    See :class:`Adaptive` for the rest.
    """

    name: ClassVar[str] = "fedyogi"

    def follow(self, square: Floats, new: Floats) -> Floats:
        r"""Return $v - (1 - \beta_2) \Delta^2 sgn(v - \Delta^2)$."""
        return square - (1 - self.beta2) * new * np.sign(square - new)
