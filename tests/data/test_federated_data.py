from __future__ import annotations

import numpy as np
import pytest

from terrafl.data import FederatedData, Iid, Partition, Ragged
from terrafl.errors import DataError


def test_it_knows_its_clients_and_their_sizes(digits_like):
    partition = Iid(50).partition(digits_like, np.random.default_rng(0))

    data = FederatedData(digits_like, partition)

    assert data.client_ids[:2].tolist() == ["00", "01"]
    assert data.sizes.dtype == np.int64
    assert data.sizes.tolist() == [len(row) for row in partition.train]


@pytest.mark.parametrize(("train", "test"), [([0, 9], [0]), ([0], [5]), ([-1], [0])])
def test_a_partition_of_another_data_set_is_refused(train, test, of_labels):
    dataset = of_labels([0, 1, 0], [0, 1])
    partition = Partition(
        client_ids=np.array(["a"]), train=Ragged.of([train]), test=Ragged.of([test])
    )

    with pytest.raises(DataError, match="Make the partition from this data set"):
        FederatedData(dataset, partition)
