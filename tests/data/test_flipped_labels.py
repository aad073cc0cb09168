"""Labels of some clients turned around."""

import numpy as np
import pytest

from terrafl.data import Dataset, Examples, FederatedData, Normalisation, Partition, Ragged
from terrafl.data.federated import with_flipped_labels
from terrafl.errors import DataError


def federation(rows):
    labels = np.array([0, 1, 2, 3, 0, 1])
    examples = Examples(np.zeros((6, 1), dtype=np.float32), labels)
    dataset = Dataset(
        name="made up",
        train=examples,
        test=examples,
        num_classes=4,
        normalisation=Normalisation(),
    )
    ids = np.array([chr(ord("a") + i) for i in range(len(rows))])
    train = Ragged.of(rows)
    return FederatedData(dataset, Partition(client_ids=ids, train=train, test=train))


def test_only_the_training_labels_of_the_chosen_clients_are_turned_around():
    data = federation([[0, 1], [3, 2], [4, 5]])

    flipped = with_flipped_labels(data, [1])

    assert flipped.dataset.train.y.tolist() == [0, 1, 1, 0, 0, 1]
    assert data.dataset.train.y.tolist() == [0, 1, 2, 3, 0, 1]
    assert flipped.dataset.test.y.tolist() == [0, 1, 2, 3, 0, 1]
    assert flipped.dataset.train.x is data.dataset.train.x


def test_clients_that_share_examples_cannot_be_told_apart():
    with pytest.raises(DataError, match="no two clients hold the same example"):
        with_flipped_labels(federation([[0, 1], [1, 2]]), [0])
