"""One client per natural owner of examples: the writers of FEMNIST, the subjects of HAR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from terrafl.data.dataset import Dataset
from terrafl.data.partition.partition import Partition
from terrafl.data.partition.ragged import Ragged
from terrafl.errors import DataError, require

__all__ = ["ByOwner"]


@dataclass(frozen=True, slots=True)
class ByOwner:
    """Make every natural owner a client, named as in the data set.

    Parameters
    ----------
    min_examples
        Owners of fewer training examples than this are left out, and their examples, training
        and test, belong to nobody. So do the test examples of owners who only have those.
    """

    name: ClassVar[str] = "owner"

    min_examples: int = 1

    def __post_init__(self) -> None:
        require(self.min_examples >= 1, "min_examples", self.min_examples, "at least 1")

    def partition(self, dataset: Dataset, generator: np.random.Generator) -> Partition:
        """Deal the data set out; nothing here is random."""
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
        return Partition(
            client_ids=kept,
            train=Ragged.by_owner(_positions(kept, train), len(kept)),
            test=Ragged.by_owner(_positions(kept, test), len(kept)),
        )


def _positions(ids: NDArray[np.str_], group: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return where each name stands among the sorted ids; -1 where it does not."""
    found = np.minimum(np.searchsorted(ids, group), len(ids) - 1)
    return np.where(ids[found] == group, found, -1)
