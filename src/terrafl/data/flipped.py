"""Some clients' labels turned around, as clients that poison a federation have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from terrafl.data.federated import FederatedData
from terrafl.errors import DataError

__all__ = ["with_flipped_labels"]


def with_flipped_labels(data: FederatedData, clients: Iterable[int]) -> FederatedData:
    r"""Return a federation in which some clients train on labels $C - 1 - y$.

    Test labels stay true. Inputs are shared with the original, not copied.

    Parameters
    ----------
    data
        The federation as it is.
    clients
        Positions of the clients whose labels are flipped.
    """
    dataset, rows = data.dataset, data.partition.train
    if len(np.unique(rows.indices)) < len(rows.indices):
        raise DataError(
            "labels can be flipped where no two clients hold the same example; this partition "
            "shares some: choose another."
        )
    labels = dataset.train.y.copy()
    for client in clients:
        own = rows[client]
        labels[own] = dataset.num_classes - 1 - labels[own]
    flipped = replace(dataset, train=replace(dataset.train, y=labels))
    return FederatedData(flipped, data.partition)
