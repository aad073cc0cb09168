"""The partition of a data set among clients, and the partitioner interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset
from terrafl.data.partition.ragged import Ragged
from terrafl.errors import DataError, require


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """The training and test examples of every client.

    Parameters
    ----------
    client_ids
        Distinct client ids in string order.
    train, test
        Rows of the data set's training and test examples, one list per client in the order of
        ``client_ids``. Every client has training examples; it may have no test examples.
    redraws
        Number of random draws that were discarded because they broke the scheme's rules.
    repaired
        Number of examples that were moved because redrawing did not help.
    """

    client_ids: NDArray[np.str_]
    train: Ragged
    test: Ragged
    redraws: int = 0
    repaired: int = 0

    def __post_init__(self) -> None:
        lengths = (len(self.client_ids), len(self.train), len(self.test))
        require(len(set(lengths)) == 1, "partition", lengths, "one id, train and test per client")
        ordered = bool((self.client_ids[:-1] < self.client_ids[1:]).all())
        shown = self.client_ids[:3].tolist()
        require(ordered, "client ids", shown, "distinct and in string order")
        smallest = int(self.train.sizes().min(initial=1))
        require(smallest > 0, "partition", smallest, "1 training example or more for each client")

    @classmethod
    def of_owners(
        cls, train: NDArray[np.int64], test: NDArray[np.int64], client_ids: NDArray[np.str_]
    ) -> Partition:
        """Make a partition from the position of the client that owns each example; -1 for none."""
        train_rows, test_rows = (
            Ragged.by_owner(owners, len(client_ids)) for owners in (train, test)
        )
        return cls(client_ids=client_ids, train=train_rows, test=test_rows)

    def __len__(self) -> int:
        return len(self.client_ids)


@runtime_checkable
class Partitioner(Protocol):
    """A way to divide a data set among clients.

    A partitioner is a frozen dataclass whose constructor arguments are its settings. The result
    depends only on them, the data set and the generator.
    """

    name: ClassVar[str]
    """The name used in configuration files and on the command line."""

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set."""
        ...


def numbered(count: int) -> NDArray[np.str_]:
    """Return ids whose string order is their numeric order.

    Examples
    --------
    >>> numbered(11)[[0, 9, 10]].tolist()
    ['00', '09', '10']
    """
    width = len(str(count - 1))
    return np.strings.zfill(np.arange(count).astype(np.str_), width).astype(f"<U{width}")


def require_enough(dataset: Dataset, needed: int, what: str) -> None:
    """Raise unless the data set has as many training examples as are needed."""
    if len(dataset.train) < needed:
        raise DataError(
            f"{what} must be at most the number of training examples; got {needed} and "
            f"{len(dataset.train)} examples in {dataset.name}. Lower the number of clients."
        )
