"""Two classics: examples divided at random, and the label-sorted data cut into shards.

References
----------
McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
AISTATS 2017.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from terrafl.data.dataset import Dataset
from terrafl.data.partition.partition import Partition, numbered, require_enough
from terrafl.data.partition.shares import even, follow
from terrafl.errors import require


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


@dataclass(frozen=True, slots=True)
class Shards:
    """Sort the training examples by label, cut them into equal shards, assign these at random.

    Parameters
    ----------
    clients
        Number of clients, $N$.
    shards_per_client
        Shards that each client gets.

    Notes
    -----
    Examples of one label keep the order of the data set. If there is a remainder, the first shards
    hold one example more. The paper has no test data per client: here a client gets the share of
    each class's test examples that it has of the class's training examples.
    """

    name: ClassVar[str] = "shards"

    clients: int
    shards_per_client: int = 2

    def __post_init__(self) -> None:
        require(self.clients >= 1, "clients", self.clients, "at least 1")
        per_client = self.shards_per_client
        require(per_client >= 1, "shards_per_client", per_client, "at least 1")

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set."""
        shards = self.clients * self.shards_per_client
        require_enough(dataset, shards, "clients x shards_per_client")
        labels, test_labels, _ = dataset.labels(f"partition {self.name}")
        client_of_shard = generator.permutation(shards) // self.shards_per_client
        owners = np.empty(len(labels), dtype=np.int64)
        by_label = np.argsort(labels, kind="stable")
        owners[by_label] = np.repeat(client_of_shard, even(len(labels), shards))
        test_owners = follow(generator, owners, labels, test_labels, self.clients)
        return Partition.of_owners(owners, test_owners, numbered(self.clients))
