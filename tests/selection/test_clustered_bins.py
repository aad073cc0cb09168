"""Clustered sampling's bins: exact sums, and Algorithm 2 against a slow version."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_bins import transcribed_bins

from terrafl.seeds import stream
from terrafl.selection.clustered_bins import draw_from_bins, pour, similarity_bins

any_sizes = st.lists(st.integers(1, 10**6), min_size=1, max_size=30)


def rows_of(count, seed):
    return stream(seed, "rows").random((count, 4))


@given(any_sizes, st.integers(1, 12), st.integers(0, 9))
@settings(derandomize=True, deadline=None)
def test_every_client_has_its_units_and_every_bin_is_full(sizes, num_bins, seed):
    sizes = np.array(sizes)

    bins = similarity_bins(stream(seed, "bins"), rows_of(len(sizes), seed), sizes, num_bins)

    assert bins.dtype == np.int64
    assert bins.min() >= 0
    assert bins.sum(axis=0).tolist() == (num_bins * sizes).tolist()
    assert bins.sum(axis=1).tolist() == [int(sizes.sum())] * num_bins


@given(st.integers(2, 8), st.integers(0, 10**6), st.data())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_bins_are_those_of_algorithm_2(num_bins, seed, data):
    count = data.draw(st.integers(4 * num_bins, 40))
    # Sizes differ by a factor of at most 4, so nobody exceeds a bin; equal masses have no order.
    sizes = 10**6 + stream(seed, "sizes").integers(0, 3 * 10**6, size=count)
    rows = rows_of(count, seed)

    bins = similarity_bins(stream(seed, "bins"), rows, sizes, num_bins)

    expected = transcribed_bins(stream(seed, "bins"), rows, sizes.tolist(), num_bins)
    assert bins.tolist() == expected


def test_one_bin_draws_by_size():
    sizes = np.array([5, 1, 9])

    assert similarity_bins(stream(0, "bins"), rows_of(3, 0), sizes, 1).tolist() == [[5, 1, 9]]


def test_similar_clients_share_a_bin():
    rows = np.array([[0.0], [9.0], [0.1], [9.1], [0.2], [9.2]])

    bins = similarity_bins(stream(0, "bins"), rows, np.full(6, 7), 2)

    assert {tuple(np.flatnonzero(row).tolist()) for row in bins} == {(0, 2, 4), (1, 3, 5)}


def test_a_client_with_more_units_than_a_bin_fills_bins_alone():
    sizes = np.array([70, 10, 10, 10])

    bins = similarity_bins(stream(0, "bins"), rows_of(4, 0), sizes, 3)

    assert bins[:2].tolist() == [[100, 0, 0, 0]] * 2
    assert bins[2].tolist() == [10, 30, 30, 30]


def test_pouring_fills_the_first_bins_first():
    bins = np.array([[10, 0, 0], [4, 0, 0], [0, 0, 0]])

    pour(bins, np.array([2, 1]), np.array([0, 5, 8]), 10)

    assert bins.tolist() == [[10, 0, 0], [4, 0, 6], [0, 5, 2]]


def test_a_client_is_drawn_as_often_as_its_share_says():
    sizes, num_bins, counts = np.array([1, 2, 3, 4, 6, 8]), 3, np.zeros(6)
    for seed in range(4000):
        generator = stream(seed, "draw")
        bins = similarity_bins(generator, rows_of(6, 0), sizes, num_bins)
        drawn = draw_from_bins(generator, bins)
        assert len(drawn) == num_bins
        counts += np.bincount(drawn, minlength=6)

    # 4,000 draws from each of 3 bins: the standard deviation is at most 0.0137.
    assert counts / 4000 == pytest.approx(num_bins * sizes / sizes.sum(), abs=5 * 0.0137)
