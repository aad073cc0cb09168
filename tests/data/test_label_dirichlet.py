from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data import Holdings, LabelDirichlet


def test_equal_sizes_differ_by_one_whatever_the_skew(digits_like):
    partition = LabelDirichlet(50, 0.01).partition(digits_like, np.random.default_rng(0))

    assert partition.train.sizes().tolist() == [29] * 37 + [28] * 13


def test_lognormal_sizes_have_the_spread_that_was_asked_for(fmnist_like):
    partition = LabelDirichlet(300, 1.0, "lognormal", 0.5).partition(
        fmnist_like, np.random.default_rng(0)
    )

    sizes = partition.train.sizes()
    assert sizes.sum() == 60000
    assert sizes.min() >= 1
    assert np.log(sizes).std() == pytest.approx(0.5, rel=0.15)


def test_sizes_do_not_depend_on_skew(fmnist_like):
    sizes = [
        LabelDirichlet(50, alpha, "lognormal")
        .partition(fmnist_like, np.random.default_rng(0))
        .train.sizes()
        .tolist()
        for alpha in (0.01, 100.0)
    ]

    assert sizes[0] == sizes[1]


def test_a_smaller_alpha_is_more_skewed(fmnist_like):
    distances = [
        Holdings.of(
            LabelDirichlet(50, alpha).partition(fmnist_like, np.random.default_rng(0)),
            fmnist_like.train.y,
        ).summary()["mean_distance"]
        for alpha in (0.01, 0.1, 1.0, 100.0)
    ]

    assert distances == sorted(distances, reverse=True)
    assert distances[0] > 0.8
    assert distances[-1] < 0.06


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_label_laws_have_the_variance_of_a_dirichlet_law(alpha, balanced, counts_of):
    dataset, laws = balanced(20_000, 0, 5), []
    for seed in range(20):
        partition = LabelDirichlet(100, alpha).partition(dataset, np.random.default_rng(seed))
        train, _ = counts_of(partition, dataset)
        laws.append(train / train.sum(axis=1, keepdims=True))

    expected = (1 / 5) * (4 / 5) / (5 * alpha + 1)
    # A little less: the laws of all clients together are the law of the data set.
    assert np.var(np.concatenate(laws)) == pytest.approx(expected, rel=0.1)


def test_nobody_is_left_with_what_the_others_did_not_want(fmnist_like, counts_of):
    partition = LabelDirichlet(50, 1000.0).partition(fmnist_like, np.random.default_rng(0))

    train, _ = counts_of(partition, fmnist_like)
    assert np.abs(train / 120 - 1).max() < 0.5  # five standard deviations of the law


def test_several_alphas_divide_the_clients_into_groups(fmnist_like, counts_of):
    partition = LabelDirichlet(50, (0.05, 100.0)).partition(fmnist_like, np.random.default_rng(0))

    train, _ = counts_of(partition, fmnist_like)
    classes = (train > 0).sum(axis=1)
    assert classes[:25].mean() < 6
    assert classes[25:].mean() > 8


def test_an_alpha_per_client_is_that_clients(fmnist_like, counts_of):
    alphas = (100.0,) * 9 + (0.001,)

    partition = LabelDirichlet(10, alphas).partition(fmnist_like, np.random.default_rng(2))

    train, _ = counts_of(partition, fmnist_like)
    largest_share = train.max(axis=1) / train.sum(axis=1)
    assert int(largest_share.argmax()) == 9


def test_test_examples_have_the_label_law_of_training(fmnist_like, counts_of):
    partition = LabelDirichlet(50, 0.3).partition(fmnist_like, np.random.default_rng(0))

    train, test = counts_of(partition, fmnist_like)
    assert np.abs(train / 6 - test).max() <= 1  # rounding


def test_which_examples_of_a_class_a_client_gets_is_random(fmnist_like):
    partition = LabelDirichlet(10, 100.0).partition(fmnist_like, np.random.default_rng(0))

    ranks = np.searchsorted(np.flatnonzero(fmnist_like.train.y == 0), partition.train[0])
    of_class = fmnist_like.train.y[partition.train[0]] == 0
    assert np.ptp(ranks[of_class]) > 5000  # of 6000, and the client has some 600


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    labels=st.tuples(
        st.lists(st.integers(0, 4), min_size=12, max_size=80),
        st.lists(st.integers(0, 4), max_size=40),
    ),
    partitioner=st.builds(
        LabelDirichlet,
        st.integers(1, 12),
        st.sampled_from([1e-12, 0.001, 0.3, 50.0]),
        st.sampled_from(["equal", "lognormal"]),
        st.sampled_from([0.0, 2.0, 50.0]),
    ),
    seed=st.integers(0, 2**32),
)
def test_no_class_ever_runs_out_on_a_client(of_labels, assert_dealt, *, labels, partitioner, seed):
    dataset = of_labels(*labels)

    partition = partitioner.partition(dataset, np.random.default_rng(seed))

    assert_dealt(partition, dataset)
    assert partition.train.sizes().min() >= 1
