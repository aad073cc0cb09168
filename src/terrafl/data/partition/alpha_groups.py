"""The partition of HiCS-FL, which the Terraform paper uses: one Dirichlet alpha per group.

References
----------
Chen and Vikalo, "Heterogeneity-Guided Client Sampling: Towards Fast and Efficient Non-IID
Federated Learning", NeurIPS 2024, and the authors' code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset
from terrafl.data.partition.balanced import deal
from terrafl.data.partition.partition import Partition, numbered
from terrafl.data.partition.shares import even, require_alphas
from terrafl.errors import DataError, require


@dataclass(frozen=True, slots=True)
class AlphaGroups:
    r"""Give each group of clients a slice of every class, divided with that group's $\alpha$.

    With $G$ alphas, group $i$ is the $i$-th run of clients and gets the $i$-th of $G$
    contiguous slices of every class, of training and test examples alike. Inside a group each
    class is shared by one draw from $\mathrm{Dir}(\alpha_i \mathbf{1}_m)$ over its $m$
    clients, the same for training and test: see :func:`~terrafl.data.partition.balanced.deal`
    for the balance mask, the minimum size, redraws and repairs.

    Parameters
    ----------
    clients
        Number of clients, $N$.
    alphas
        Concentrations, $\alpha_1 \dots \alpha_G$: small is skewed.

    Notes
    -----
    If $N$ is not a multiple of $G$, the first groups have one client more. If the size of a class
    is not a multiple of $G$, some groups get one example more of it; these groups differ from
    class to class. ``Partition.redraws`` and ``Partition.repaired`` are sums over groups.
    """

    name: ClassVar[str] = "alpha-groups"

    clients: int
    alphas: tuple[float, ...]

    def __post_init__(self) -> None:
        require(self.clients >= 1, "clients", self.clients, "at least 1")
        require(self.clients < 2**40, "clients", self.clients, "below 2^40")
        require_alphas("alphas", self.alphas, self.clients)

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set."""
        members = even(self.clients, len(self.alphas))
        labels = dataset.labels(f"partition {self.name}")
        train, test = (self._slices(part, labels.num_classes) for part in labels[:2])
        for size, examples in zip(members.tolist(), train.sum(axis=1).tolist(), strict=True):
            if examples < size:
                raise DataError(
                    "every alpha group must have a training example per client; got a group of "
                    f"{size} clients and {examples} examples of {dataset.name}. Lower the number "
                    "of clients or of alphas."
                )
        dealt = map(partial(deal, generator), self.alphas, members.tolist(), train, test)
        train_counts, test_counts, redraws, repaired = zip(*dealt, strict=True)
        owners = self._owners(labels.train, train_counts), self._owners(labels.test, test_counts)
        partition = Partition.of_owners(*owners, numbered(self.clients))
        return replace(partition, redraws=sum(redraws), repaired=sum(repaired))

    def _slices(self, labels: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
        """Return how many examples of each class (column) each group (row) gets."""
        groups = len(self.alphas)
        sizes = np.bincount(labels, minlength=num_classes)
        remainder_first = np.arange(num_classes) % groups  # other groups for each class
        cuts = (np.arange(groups + 1)[:, np.newaxis] * sizes + remainder_first) // groups
        return np.diff(cuts, axis=0)

    def _owners(
        self, labels: NDArray[np.int64], counts: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Hand the examples of each class, in the order of the data set, to client after client."""
        owners = np.empty(len(labels), dtype=np.int64)
        for label, held in enumerate(np.concatenate(counts).T):
            owners[labels == label] = np.repeat(np.arange(self.clients), held)
        return owners
