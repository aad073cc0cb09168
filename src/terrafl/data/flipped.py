"""Flipped labels, as in label-flipping attacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from terrafl.data.federated import FederatedData
from terrafl.errors import DataError

__all__ = ["with_flipped_labels"]


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
