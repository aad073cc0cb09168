"""FedAvg: minimise the loss locally, average the models.

References
----------
McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
AISTATS 2017.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from terrafl.algorithms.protocol import Algorithm, Mean
from terrafl.records import Population, Update, Vector


@dataclass(slots=True, kw_only=True)
class FedAvg(Algorithm):
    r"""Average the clients' models, $\theta \leftarrow \sum_k w_k \theta^k / \sum_k w_k$."""

    name: ClassVar[str] = "fedavg"

    def aggregate(
        self, received: Vector, updates: Sequence[Update], population: Population, mean: Mean
    ) -> Vector:
        """Return the mean."""
        return mean(received, updates)
