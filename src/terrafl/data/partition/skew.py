"""How different the clients of a partition are, in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.data.partition.partition import Partition


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Holdings:
    r"""The examples of each client in numbers, in the order of client ids.

    Parameters
    ----------
    sizes
        Training examples, $|D_k|$.
    distances
        Total-variation distance between the label distributions of the client and of all examples,
        $\frac{1}{2} \sum_c |p_k(c) - p(c)|$.
    labels
        The most frequent class; the smallest of equals.
    num_held
        Number of classes.
    """

    sizes: NDArray[np.int64]
    distances: NDArray[np.float64]
    labels: NDArray[np.int64]
    num_held: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Partition, labels: NDArray[np.int64]) -> Holdings:
        """Measure every client of a partition, given the label of every training example."""
        sizes = partition.train.sizes()
        held = labels[partition.train.indices]
        num_classes = int(held.max()) + 1
        # One number per (client, class) that occurs: memory follows the examples, not N x C.
        piles, counts = np.unique(
            np.repeat(np.arange(len(sizes)), sizes) * num_classes + held, return_counts=True
        )
        client, label = np.divmod(piles, num_classes)
        pooled = np.bincount(held, minlength=num_classes) / len(held)
        # Half the sum of absolute differences of two distributions is 1 minus their overlap.
        shared = np.minimum(counts / sizes[client], pooled[label])
        common = np.bincount(client, weights=shared, minlength=len(sizes))
        largest_first = np.lexsort((label, -counts, client))
        _, first = np.unique(client[largest_first], return_index=True)
        return cls(
            sizes=sizes,
            distances=np.maximum(0.0, 1.0 - common),
            labels=label[largest_first][first],
            num_held=np.bincount(client, minlength=len(sizes)),
        )

    def to_dict(self) -> dict[str, list[int] | list[float]]:
        """Return plain lists by name; distances to four places."""
        return {
            "sizes": self.sizes.tolist(),
            "distances": np.round(self.distances, 4).tolist(),
            "labels": self.labels.tolist(),
        }


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
        Total-variation distance between a client's label distribution $p_k$ and the distribution
        $p$ of all examples, averaged over clients,
        $\frac{1}{N} \sum_k \frac{1}{2} \sum_c |p_k(c) - p(c)|$: 0 if all are equal, near 1 if
        each client holds one of many classes.
    redraws, repaired
        See :class:`~terrafl.data.partition.partition.Partition`.
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
        return cls.from_holdings(partition, Holdings.of(partition, labels))

    @classmethod
    def from_holdings(cls, partition: Partition, holdings: Holdings) -> Skew:
        """Summarise the holdings of a partition's clients."""
        sizes = holdings.sizes
        return cls(
            clients=len(partition),
            examples=int(sizes.sum()),
            size_min=int(sizes.min()),
            size_median=float(np.median(sizes)),
            size_max=int(sizes.max()),
            mean_classes=float(holdings.num_held.mean()),
            mean_distance=float(holdings.distances.mean()),
            redraws=partition.redraws,
            repaired=partition.repaired,
        )

    def to_dict(self) -> dict[str, int | float]:
        """Return plain numbers by name."""
        return asdict(self)
