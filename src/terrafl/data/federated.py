"""A data set and its partition among clients."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset, Examples
from terrafl.data.partition.partition import Partition, Ragged
from terrafl.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class FederatedData:
    """A data set and the examples that each client holds; no example is copied.

    Parameters
    ----------
    dataset
        The examples.
    partition
        The rows of each client.
    """

    dataset: Dataset
    partition: Partition

    def __post_init__(self) -> None:
        _require_inside(self.partition.train, self.dataset.train, "training")
        _require_inside(self.partition.test, self.dataset.test, "test")

    @property
    def client_ids(self) -> NDArray[np.str_]:
        """All clients, in string order."""
        return self.partition.client_ids

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of training examples of each client, $|D^k_{train}|$."""
        return self.partition.train.sizes()


def with_flipped_labels(data: FederatedData, clients: Iterable[int]) -> FederatedData:
    r"""Return a federation in which some clients train on the labels $C - 1 - y$.

    Test labels do not change. Inputs are shared with the original, not copied.

    Parameters
    ----------
    data
        The original federation.
    clients
        Positions of the clients whose labels are flipped.
    """
    dataset, rows = data.dataset, data.partition.train
    if len(np.unique(rows.indices)) < len(rows.indices):
        raise DataError(
            "labels can be flipped only if no two clients hold the same example; this partition "
            "shares examples. Choose another partition."
        )
    original, _, num_classes = dataset.labels("label flipping")
    labels = original.copy()
    for client in clients:
        held = rows[client]
        labels[held] = num_classes - 1 - labels[held]
    flipped = replace(dataset, train=replace(dataset.train, y=labels))
    return FederatedData(flipped, data.partition)


def _require_inside(rows: Ragged, examples: Examples, kind: str) -> None:
    low, high = int(rows.indices.min(initial=0)), int(rows.indices.max(initial=-1))
    if low < 0 or high >= len(examples):
        raise DataError(
            f"a partition must name {kind} examples 0 .. {len(examples) - 1} of the data set; "
            f"got {low} .. {high}. Make the partition from this data set."
        )
