"""The partition of HiCS-FL, against the facts known of it."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data import AlphaGroups


def _ranks(rows, labels, label):
    """Return where a group's examples of a class stand among all of that class."""
    return np.searchsorted(np.flatnonzero(labels == label), np.sort(rows[labels[rows] == label]))


def test_each_group_gets_one_contiguous_slice_of_every_class(fmnist_like):
    partition = AlphaGroups(50, (0.01, 0.1, 0.5, 1.0, 10.0)).partition(
        fmnist_like, np.random.default_rng(0)
    )

    for rows, labels, per_slice in (
        (partition.train, fmnist_like.train.y, 1200),
        (partition.test, fmnist_like.test.y, 200),
    ):
        for group in range(5):
            first, last = rows.offsets[[10 * group, 10 * group + 10]]
            for label in range(10):
                ranks = _ranks(rows.indices[first:last], labels, label)
                expected = np.arange(group * per_slice, (group + 1) * per_slice)
                assert ranks.tolist() == expected.tolist()


def test_inside_a_group_a_class_goes_to_client_after_client(fmnist_like):
    partition = AlphaGroups(10, (1.0,)).partition(fmnist_like, np.random.default_rng(0))

    rows_of_class = np.flatnonzero(fmnist_like.train.y == 3)
    owner_of = {row: k for k, rows in enumerate(partition.train) for row in rows.tolist()}
    owners = [owner_of[row] for row in rows_of_class.tolist()]
    assert owners == sorted(owners)


def test_the_first_groups_take_one_client_more(digits_like):
    partition = AlphaGroups(52, (1.0,) * 5).partition(digits_like, np.random.default_rng(0))

    labels, rows = digits_like.train.y, partition.train
    starts = np.cumsum([0, 11, 11, 10, 10, 10])
    slices = [rows.indices[rows.offsets[a] : rows.offsets[b]] for a, b in pairwise(starts)]
    zeros = [int((labels[own] == 0).sum()) for own in slices]
    assert sum(zeros) == (labels == 0).sum()
    assert max(zeros) - min(zeros) <= 1


def test_one_draw_shares_training_and_test_examples(fmnist_like, counts_of):
    partition = AlphaGroups(50, (0.1, 0.5)).partition(fmnist_like, np.random.default_rng(1))

    train, test = counts_of(partition, fmnist_like)
    difference = np.abs(train / 6000 - test / 1000)
    assert np.corrcoef(train.ravel(), test.ravel())[0, 1] > 0.99
    assert np.median(difference) <= 1 / 1000  # rounding; only a mask of one kind alone adds more


@pytest.mark.parametrize("alpha", [0.0001, 0.001, 0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_it_ends_with_the_least_sizes_at_every_alpha(alpha, groups, digits_like, assert_dealt):
    start = time.perf_counter()

    partition = AlphaGroups(50, (alpha,) * groups).partition(digits_like, np.random.default_rng(0))

    assert time.perf_counter() - start < 10.0
    assert_dealt(partition, digits_like)
    assert partition.train.sizes().min() >= int(0.2 * 1437 / 50)
    assert partition.test.sizes().min() >= int(0.2 * 360 / 50)


def test_fifty_clients_in_one_group_at_alpha_0001_are_repaired(fmnist_like, assert_dealt):
    partition = AlphaGroups(50, (0.001,)).partition(fmnist_like, np.random.default_rng(42))

    assert partition.redraws > 0
    assert 0 < partition.repaired <= 50 * (240 + 40)
    assert partition.train.sizes().min() == 240
    assert partition.test.sizes().min() == 40
    assert_dealt(partition, fmnist_like)


def test_five_groups_at_alpha_0001_hold_about_one_class_each_in_equal_sizes(fmnist_like, counts_of):
    partition = AlphaGroups(50, (0.001,) * 5).partition(fmnist_like, np.random.default_rng(42))

    train, _ = counts_of(partition, fmnist_like)
    sizes = partition.train.sizes()
    assert (train > 0).sum(axis=1).mean() < 1.1
    assert np.abs(sizes / 1200 - 1).max() <= 0.002
    assert partition.repaired == 0


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_at_larger_alphas_sizes_are_loosely_balanced(alpha, fmnist_like):
    ratios = np.concatenate(
        [
            AlphaGroups(50, (alpha,) * 5)
            .partition(fmnist_like, np.random.default_rng(seed))
            .train.sizes()
            / 1200
            for seed in range(5)
        ]
    )

    assert 0.2 <= ratios.min() < 0.8
    assert 1.2 < ratios.max() <= 2.0
    assert np.quantile(ratios, 0.05) > 0.3
    assert np.quantile(ratios, 0.95) < 1.8


@pytest.mark.parametrize(("train", "classes", "clients"), [(50000, 100, 250), (100000, 200, 500)])
def test_many_classes_at_alpha_01_succeed_at_once(train, classes, clients, balanced):
    start = time.perf_counter()

    partition = AlphaGroups(clients, (0.1,)).partition(
        balanced(train, 10000, classes), np.random.default_rng(42)
    )

    assert time.perf_counter() - start < 5.0
    assert (partition.redraws, partition.repaired) == (0, 0)
    assert 40 <= partition.train.sizes().min() < partition.train.sizes().max() <= 400


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    labels=st.tuples(
        st.lists(st.integers(0, 4), min_size=30, max_size=90),
        st.lists(st.integers(0, 4), max_size=40),
    ),
    clients=st.integers(1, 8),
    alphas=st.lists(st.sampled_from([0.001, 0.3, 5.0]), min_size=1, max_size=3),
    seed=st.integers(0, 2**32),
)
def test_any_labels_are_dealt_out_completely(
    of_labels, assert_dealt, *, labels, clients, alphas, seed
):
    train, test = labels
    dataset = of_labels(train + [0] * 30, test)  # enough for every group to serve its clients
    alphas = tuple(alphas[:clients])

    partition = AlphaGroups(clients, alphas).partition(dataset, np.random.default_rng(seed))

    assert_dealt(partition, dataset)
    assert partition.train.sizes().min() >= 1


def test_the_remainders_of_classes_are_spread_over_groups(of_labels):
    dataset = of_labels(np.arange(100), [])  # one example of each class: all remainder

    partition = AlphaGroups(5, (1.0,) * 5).partition(dataset, np.random.default_rng(0))

    assert partition.train.sizes().tolist() == [20] * 5
