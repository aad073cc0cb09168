"""FedAvg: minimise the loss locally, average the models.

References
----------
McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
AISTATS 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from terrafl.algorithms.protocol import Array, Mean
from terrafl.records import Population, State, Update, Vector

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

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the mean."""
        return mean(received, updates)

    def state(self) -> State:
        """Remember nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Take up nothing."""
