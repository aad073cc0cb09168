"""Server averaging: read out a moving average of the global model.

References
----------
Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992, for averaging
iterates; Kingma and Ba, "Adam", ICLR 2015, for the correction of the start.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import require
from terrafl.records import State, Vector


@dataclass(slots=True, kw_only=True)
class ServerAverage:
    r"""An exponential moving average of the global model, as a read-out of any algorithm.

    After a server step with $m$ client updates, $U$ in all,

    .. math:: \bar\theta \leftarrow \bar\theta
              + \frac{1 - 2^{-m / H}}{1 - 2^{-U / H}} (\theta - \bar\theta)

    Each model weighs as much as the client updates behind it, halved after $H$ further ones, and
    the initial model weighs nothing. The average is evaluated, reported and saved. Training
    continues from the model itself, so no client notices.

    Parameters
    ----------
    half_life
        $H$, in client updates.

    Examples
    --------
    >>> average = ServerAverage(half_life=1)
    >>> average.take(np.array([1.0], dtype=np.float32), 1)
    >>> average.take(np.array([4.0], dtype=np.float32), 1)  # weights 1/2 and 1
    >>> average.model
    array([3.], dtype=float32)
    """

    half_life: float
    _model: NDArray[np.float64] = field(init=False, repr=False)  # empty before the first step
    _updates: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._model, self._updates = np.zeros(0), 0
        must = "a finite number above 0, in client updates"
        require(0 < self.half_life < float("inf"), "half_life", self.half_life, must)

    @property
    def model(self) -> Vector | None:
        """The average; ``None`` before the first step."""
        return self._model.astype(np.float32) if len(self._model) else None

    def take(self, model: Vector, num_updates: int) -> None:
        """Take in the model after a step with so many client updates."""
        if num_updates == 0:
            return
        self._updates += num_updates
        # expm1 keeps the ratio exact where the half-life is long.
        weights = np.expm1(-np.log(2) * np.array([num_updates, self._updates]) / self.half_life)
        if not len(self._model):
            self._model = np.zeros(len(model))
        self._model += weights[0] / weights[1] * (model - self._model)

    def state(self) -> State:
        """Return the average, and how many client updates it has seen."""
        return {"average": self._model, "updates": self._updates}

    def restore(self, state: State) -> None:
        """Take up a state that :meth:`state` returned."""
        self._model, self._updates = state["average"], state["updates"]  # type: ignore[assignment]
