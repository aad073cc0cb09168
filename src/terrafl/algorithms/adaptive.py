"""FedAdagrad, FedAdam and FedYogi: adaptive optimisers on the server.

References
----------
Reddi et al., "Adaptive Federated Optimization", ICLR 2021, Algorithm 2.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.protocol import Algorithm, Mean, RunFacts
from terrafl.errors import require
from terrafl.records import Population, State, Update, Vector


@dataclass(slots=True, kw_only=True)
class Adaptive(Algorithm):
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
    _mean: NDArray[np.float64] = field(init=False, repr=False)
    _square: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require(0 <= value < 1, name, value, "at least 0 and below 1")
        for name in ("tau", "server_learning_rate"):
            value = getattr(self, name)
            require(0 < value < float("inf"), name, value, "a finite number above 0")

    def begin(self, run: RunFacts) -> None:
        r"""Start with $m = 0$ and $v = \tau^2$."""
        self._mean = np.zeros(run.num_parameters)
        self._square = np.full(run.num_parameters, self.tau**2)

    @abstractmethod
    def follow(self, square: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return the next $v$, given $v$ and $\Delta^2$."""
        ...

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        r"""Return $\theta + \eta_s m / (\sqrt{v} + \tau)$, and the mean of the buffers."""
        new = mean(received, updates)
        trained = slice(len(self._mean))
        start = received[trained].astype(np.float64)
        delta = new[trained] - start
        self._mean = self.beta1 * self._mean + (1 - self.beta1) * delta
        self._square = self.follow(self._square, delta**2)
        step = self._mean / (np.sqrt(self._square) + self.tau)
        new[trained] = start + self.server_learning_rate * step
        return new

    def state(self) -> State:
        """Return both moments."""
        return {"mean": self._mean, "square": self._square}

    def restore(self, state: State) -> None:
        """Take up both moments."""
        self._mean = state["mean"]  # type: ignore[assignment]  # as stored
        self._square = state["square"]  # type: ignore[assignment]  # as stored


@dataclass(slots=True, kw_only=True)
class FedAdagrad(Adaptive):
    r"""Sum the squares, $v \leftarrow v + \Delta^2$; see :class:`Adaptive` for the rest.

    ``beta1`` is 0 unless set, as published, and ``beta2`` is not used.
    """

    name: ClassVar[str] = "fedadagrad"

    beta1: float = 0.0
    server_learning_rate: float = 0.1

    def follow(self, square: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return $v + \Delta^2$."""
        return square + new


@dataclass(slots=True, kw_only=True)
class FedAdam(Adaptive):
    r"""Average the squares, $v \leftarrow \beta_2 v + (1 - \beta_2) \Delta^2$.

    See :class:`Adaptive` for the rest.
    """

    name: ClassVar[str] = "fedadam"

    def follow(self, square: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return $\beta_2 v + (1 - \beta_2) \Delta^2$."""
        return self.beta2 * square + (1 - self.beta2) * new


@dataclass(slots=True, kw_only=True)
class FedYogi(Adaptive):
    r"""Follow the squares' sign, $v \leftarrow v - (1 - \beta_2) \Delta^2 sgn(v - \Delta^2)$.

    See :class:`Adaptive` for the rest.
    """

    name: ClassVar[str] = "fedyogi"

    def follow(self, square: NDArray[np.float64], new: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return $v - (1 - \beta_2) \Delta^2 sgn(v - \Delta^2)$."""
        return square - (1 - self.beta2) * new * np.sign(square - new)
