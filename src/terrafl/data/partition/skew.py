"""How different the clients of a partition are, in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.data.partition.partition import Partition

__all__ = ["Skew"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    r"""How the training examples of a partition are spread.

    Parameters
    ----------
    clients, examples
        Clients, and training examples that belong to one of them.
    size_min, size_median, size_max
        Of the clients' numbers of training examples.
    mean_classes
        Number of classes that a client holds, averaged over clients.
    mean_distance
        Total-variation distance between a client's label law $p_k$ and the law $p$ of all
        clients' examples together, averaged over clients,
        $\frac{1}{N} \sum_k \frac{1}{2} \sum_c |p_k(c) - p(c)|$: 0 when all are alike, near 1
        when each holds one of many classes.
    redraws, repaired
        What the partitioner had to do, see :class:`~terrafl.data.partition.partition.Partition`.
    """

    clients: int
    examples: int
    size_min: int
    size_median: float
    size_max: int
    mean_classes: float
    mean_distance: float
    redraws: int
    repaired: int

    @classmethod
    def of(cls, partition: Partition, labels: NDArray[np.int64]) -> Skew:
        """Measure a partition, given the label of every training example."""
        sizes = partition.train.sizes()
        held = labels[partition.train.indices]
        num_classes = int(held.max()) + 1
        # One number per (client, class) that occurs: memory follows the examples, not N x C.
        piles, counts = np.unique(
            np.repeat(np.arange(len(sizes)), sizes) * num_classes + held, return_counts=True
        )
        client, label = np.divmod(piles, num_classes)
        pooled = np.bincount(held, minlength=num_classes) / len(held)
        # Half the absolute differences of two laws is 1 minus what they have in common.
        common = np.minimum(counts / sizes[client], pooled[label]).sum()
        return cls(
            clients=len(partition),
            examples=len(held),
            size_min=int(sizes.min()),
            size_median=float(np.median(sizes)),
            size_max=int(sizes.max()),
            mean_classes=len(piles) / len(partition),
            mean_distance=max(0.0, 1.0 - float(common) / len(partition)),
            redraws=partition.redraws,
            repaired=partition.repaired,
        )

    def to_dict(self) -> dict[str, int | float]:
        """Return plain numbers by name."""
        return asdict(self)
