"""FedAvg: minimise the loss locally, average the models.

References
----------
McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
AISTATS 2017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms.average import weighted_mean
from terrafl.algorithms.protocol import Array, LocalModel, Vector

__all__ = ["FedAvg"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FedAvg:
    r"""Average the clients' models, $\theta \leftarrow \sum_k w_k \theta^k / \sum_k w_k$."""

    name: ClassVar[str] = "fedavg"

    @property
    def corrects_gradients(self) -> bool:
        """The local objective is the loss itself."""
        return False

    def correct_gradient(self, gradient: Array, parameter: Array, received: Array) -> Array:
        """Return the gradient of the loss as it is."""
        return gradient

    def aggregate(self, received: Vector, models: Sequence[LocalModel]) -> Vector:
        """Return the weighted mean."""
        return weighted_mean(models)

    def state(self) -> Mapping[str, NDArray[np.generic]]:
        """Remember nothing."""
        return {}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Take up nothing."""
