"""What can be read off the update of a model's final layer, on either side of the wire."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from terrafl.selection.report import Need

__all__ = ["MEASURABLE", "FinalLayer"]

Update = NDArray[np.float64]

MEASURABLE: Final[frozenset[Need]] = frozenset(
    {"update_norm", "weight_norm", "bias_norm", "weight_update", "bias_update"}
)
"""The fields of a report that follow from the model that came with it."""


@dataclass(frozen=True, slots=True)
class FinalLayer:
    """Where the final layer lies in a flat model.

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
    def shapes(self) -> dict[Need, tuple[int, ...]]:
        """Return the shapes that reported updates must have."""
        features = (self.weight.stop - self.weight.start) // self.num_classes
        return {
            "weight_update": (self.num_classes, features),
            "bias_update": (self.bias.stop - self.bias.start,),
        }

    def measure(
        self,
        vector: NDArray[np.float32],
        received: NDArray[np.float32],
        wanted: Collection[Need],
    ) -> dict[Need, float | Update]:
        r"""Return the wanted fields that follow from a client's model.

        The magnitude of the update of the final layer's parameters $p_i$ is

        .. math:: |\Delta w_k| = \sqrt{\sum_i \|\Delta p^k_i\|_F^2}

        with $\Delta p^k$ the client's parameters minus the received ones, in float64. It is
        taken over weight and bias together, or over either alone.

        Parameters
        ----------
        vector
            The client's model after training.
        received
            The model it started from.
        wanted
            Fields of a report; those that are not :data:`MEASURABLE` are left out.
        """

        def weight() -> Update:
            return vector[self.weight].astype(np.float64) - received[self.weight]

        def bias() -> Update:
            return vector[self.bias].astype(np.float64) - received[self.bias]

        answers: Mapping[Need, Callable[[], float | Update]] = {
            "update_norm": lambda: _norm(weight(), bias()),  # eq. 2
            "weight_norm": lambda: _norm(weight()),
            "bias_norm": lambda: _norm(bias()),
            "weight_update": lambda: weight().reshape(self.num_classes, -1),
            "bias_update": bias,
        }
        return {need: answer() for need, answer in answers.items() if need in wanted}

    def update_norm(self, vector: NDArray[np.float32], received: NDArray[np.float32]) -> float:
        """Return the norm of the update of weight and bias together, see :meth:`measure`."""
        norm = self.measure(vector, received, ("update_norm",))["update_norm"]
        assert isinstance(norm, float)
        return norm


def _norm(*parts: Update) -> float:
    return float(np.sqrt(sum(np.square(part).sum() for part in parts)))
