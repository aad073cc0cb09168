"""Every client has the same distribution: examples are divided at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from terrafl.data.dataset import Dataset
from terrafl.data.partition.partition import Partition, numbered, require_enough
from terrafl.errors import require

__all__ = ["Iid"]


@dataclass(frozen=True, slots=True)
class Iid:
    """Divide all examples at random, equally many to each client.

    If there is a remainder, the first clients get one example more.

    Parameters
    ----------
    clients
        Number of clients, $N$.
    """

    name: ClassVar[str] = "iid"

    clients: int

    def __post_init__(self) -> None:
        require(self.clients >= 1, "clients", self.clients, "at least 1")

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set."""
        require_enough(dataset, self.clients, "clients")
        train, test = (
            generator.permutation(np.arange(len(part)) % self.clients)
            for part in (dataset.train, dataset.test)
        )
        return Partition.of_owners(train, test, numbered(self.clients))
