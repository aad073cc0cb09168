from __future__ import annotations

import numpy as np

from terrafl.data import Iid, Shards


def test_iid_sizes_differ_by_one_and_the_first_clients_take_more(digits_like):
    partition = Iid(50).partition(digits_like, np.random.default_rng(0))

    assert partition.train.sizes().tolist() == [29] * 37 + [28] * 13
    assert partition.test.sizes().tolist() == [8] * 10 + [7] * 40


def test_iid_clients_see_the_law_of_all(fmnist_like, counts_of):
    partition = Iid(10).partition(fmnist_like, np.random.default_rng(0))

    train, _ = counts_of(partition, fmnist_like)
    assert np.abs(train / 600 - 1).max() < 0.2  # eight standard deviations


def test_shards_give_two_classes_at_most_where_shards_do_not_straddle(fmnist_like, counts_of):
    partition = Shards(50).partition(fmnist_like, np.random.default_rng(0))

    train, _ = counts_of(partition, fmnist_like)
    assert set((train > 0).sum(axis=1).tolist()) == {1, 2}
    assert set(train[train > 0].tolist()) == {600, 1200}


def test_a_shard_is_a_run_of_the_label_sorted_examples(of_labels):
    labels = np.array([2, 0, 1, 0, 2, 1])
    dataset = of_labels(labels, [0])

    partition = Shards(6, shards_per_client=1).partition(dataset, np.random.default_rng(0))

    # six shards of one example: dealing is a permutation
    assert sorted(row.tolist() for row in partition.train) == [[0], [1], [2], [3], [4], [5]]


def test_shard_sizes_differ_by_one_at_most(of_labels):
    dataset = of_labels(np.zeros(23), np.zeros(5))

    partition = Shards(5, shards_per_client=2).partition(dataset, np.random.default_rng(0))

    assert set(partition.train.sizes().tolist()) <= {4, 5, 6}


def test_test_examples_of_shards_have_the_class_shares_of_training(fmnist_like, counts_of):
    partition = Shards(50).partition(fmnist_like, np.random.default_rng(0))

    train, test = counts_of(partition, fmnist_like)
    assert (test * 6).tolist() == train.tolist()
