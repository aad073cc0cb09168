"""Optimisers on the server, for which the mean update is a gradient."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.protocol import Algorithm, Mean
from terrafl.errors import require
from terrafl.records import Population, State, Update, Vector

Floats = NDArray[np.float64]


@dataclass(slots=True, kw_only=True)
class ServerOptimizer(Algorithm):
    r"""Move the model along a direction that is made of $\Delta = \sum_k w_k \theta^k - \theta$.

    One step is one aggregation, not one round. Buffers such as batch-norm statistics are averaged.

    Parameters
    ----------
    server_learning_rate
        How far to move, $\eta_s$.
    """

    server_learning_rate: float = 1.0
    _moments: dict[str, Floats] = field(init=False, repr=False)  # by name; subclasses begin them

    def __post_init__(self) -> None:
        for setting in (f.name for f in fields(self) if f.init):
            value, is_decay = getattr(self, setting), setting.startswith("beta")
            must = "at least 0 and below 1" if is_decay else "a finite number above 0"
            require(0 <= value < 1 if is_decay else 0 < value < np.inf, setting, value, must)

    @abstractmethod
    def direction(self, delta: Floats) -> Floats:
        r"""Return where to move, given $\Delta$; remember what the next step needs."""
        ...

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        r"""Return $\theta$ moved by $\eta_s$ times the direction, and the mean of the buffers."""
        new = mean(received, updates)
        trained = slice(len(next(iter(self._moments.values()))))
        start = received[trained].astype(np.float64)
        new[trained] = start + self.server_learning_rate * self.direction(new[trained] - start)
        return new

    def state(self) -> State:
        """Return the moments."""
        return {**self._moments}

    def restore(self, state: State) -> None:
        """Take up the moments."""
        self._moments = {name: state[name] for name in self._moments}  # type: ignore[misc]  # as stored
