"""Where the final layer lies in a model, and how far a client moved it."""

from dataclasses import dataclass

import numpy as np

from terrafl.records import Floats, Vector


@dataclass(frozen=True, slots=True)
class FinalLayer:
    r"""Where the final layer lies in a flat model.

    An update is the client's parameters minus the received ones, $\Delta p^k$, in float64.

    Parameters
    ----------
    weight, bias
        The parts of the vector that hold them; an empty slice where there is no bias.
    num_classes
        Rows of the weight.
    """

    weight: slice
    bias: slice
    num_classes: int

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Classes x features."""
        features = (self.weight.stop - self.weight.start) // self.num_classes
        return self.num_classes, features

    @property
    def bias_shape(self) -> tuple[int, ...]:
        """Classes, or 0 where there is no bias."""
        return (self.bias.stop - self.bias.start,)

    def weight_update(self, vector: Vector, received: Vector) -> Floats:
        """Return the update of the weight, as one row of numbers."""
        return vector[self.weight].astype(np.float64) - received[self.weight]

    def bias_update(self, vector: Vector, received: Vector) -> Floats:
        """Return the update of the bias."""
        return vector[self.bias].astype(np.float64) - received[self.bias]

    def update_norm(self, vector: Vector, received: Vector) -> float:
        r"""Return the norm of the update of weight and bias together.

        .. math:: |\Delta w_k| = \sqrt{\sum_i \|\Delta p^k_i\|_F^2}
        """
        return norm(self.weight_update(vector, received), self.bias_update(vector, received))


def norm(*parts: Floats) -> float:
    """Return the Euclidean norm of several arrays together."""
    return float(np.sqrt(sum(np.square(part).sum() for part in parts)))
