"""One client per natural owner of examples: the writers of FEMNIST, the subjects of HAR."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset
from terrafl.data.partition.partition import Partition
from terrafl.errors import DataError, require


@dataclass(frozen=True, slots=True)
class ByOwner:
    """Make every natural owner a client, named as in the data set.

    Parameters
    ----------
    min_examples
        Owners with fewer training examples are left out, and no client holds their training and
        test examples. Owners with test examples only are left out, too.
    """

    name: ClassVar[str] = "owner"

    min_examples: int = 1

    def __post_init__(self) -> None:
        require(self.min_examples >= 1, "min_examples", self.min_examples, "at least 1")

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Return the partition of a data set; nothing is drawn."""
        train, test = dataset.train.group, dataset.test.group
        if train is None or test is None:
            raise DataError(
                f"the partition {self.name!r} needs a data set whose examples have natural "
                f"owners; {dataset.name} has none. Choose another partition."
            )
        ids, counts = np.unique(train, return_counts=True)
        kept = ids[counts >= self.min_examples]
        if not len(kept):
            most = int(counts.max(initial=0))
            raise DataError(
                f"min_examples must leave at least one owner; got {self.min_examples}, and no "
                f"owner in {dataset.name} has more than {most} training examples. Lower it."
            )
        return Partition.of_owners(_positions(kept, train), _positions(kept, test), kept)


def _positions(ids: NDArray[np.str_], group: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return the position of each name among the sorted ids; -1 if it is not there."""
    positions = np.minimum(np.searchsorted(ids, group), len(ids) - 1)
    return np.where(ids[positions] == group, positions, -1)
