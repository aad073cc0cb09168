from __future__ import annotations

import numpy as np
import pytest

from terrafl.data import ByOwner
from terrafl.errors import ConfigurationError, DataError

GENERATOR = np.random.default_rng(0)


def test_each_owner_is_a_client_with_its_own_examples(of_labels):
    dataset = of_labels(
        [0, 1, 0, 1], [1, 0], train_group=["w9", "w10", "w9", "a"], test_group=["a", "w9"]
    )

    partition = ByOwner().partition(dataset, GENERATOR)

    assert partition.client_ids.tolist() == ["a", "w10", "w9"]
    assert [row.tolist() for row in partition.train] == [[3], [1], [0, 2]]
    assert [row.tolist() for row in partition.test] == [[0], [], [1]]


def test_small_owners_and_owners_of_test_examples_alone_are_left_out(of_labels):
    dataset = of_labels(
        [0, 1, 0], [0, 1, 1], train_group=["a", "a", "b"], test_group=["b", "stranger", "a"]
    )

    partition = ByOwner(min_examples=2).partition(dataset, GENERATOR)

    assert partition.client_ids.tolist() == ["a"]
    assert partition.train.indices.tolist() == [0, 1]
    assert partition.test.indices.tolist() == [2]


def test_a_data_set_without_owners_is_an_error(digits_like):
    with pytest.raises(DataError, match=r"needs a data set whose examples have natural owners"):
        ByOwner().partition(digits_like, GENERATOR)


def test_a_bound_that_leaves_nobody_is_an_error(of_labels):
    dataset = of_labels([0, 1], [0], train_group=["a", "b"], test_group=["a"])

    with pytest.raises(DataError, match="min_examples must leave at least one owner; got 2"):
        ByOwner(min_examples=2).partition(dataset, GENERATOR)


def test_a_bound_below_one_is_refused():
    with pytest.raises(ConfigurationError, match="min_examples must be at least 1; got 0"):
        ByOwner(min_examples=0)
