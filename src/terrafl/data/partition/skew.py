"""How different the clients of a partition are, in a few numbers."""

from dataclasses import dataclass
from typing import Self

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
    def of(cls, partition: Partition, labels: NDArray[np.int64]) -> Self:
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

    def summary(self) -> dict[str, int | float]:
        r"""Return how the training examples are spread, in plain numbers by name.

        ``clients`` and ``examples`` count the clients and the training examples that belong to one
        of them. ``size_min``, ``size_median`` and ``size_max`` are of the clients' numbers of
        examples. ``mean_classes`` is the number of classes that a client holds, averaged over
        clients. ``mean_distance`` is the distance averaged over clients,
        $\frac{1}{N} \sum_k \frac{1}{2} \sum_c |p_k(c) - p(c)|$: 0 if all label distributions are
        equal, near 1 if each client holds one of many classes.
        """
        return {
            "clients": len(self.sizes),
            "examples": int(self.sizes.sum()),
            "size_min": int(self.sizes.min()),
            "size_median": float(np.median(self.sizes)),
            "size_max": int(self.sizes.max()),
            "mean_classes": float(self.num_held.mean()),
            "mean_distance": float(self.distances.mean()),
        }
