from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data.partition.shares import apportion, even, follow, log_dirichlet, open_shares

weights = st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any)


@settings(derandomize=True)
@given(st.integers(0, 500), st.integers(1, 40))
def test_an_even_division_differs_by_one_at_most_and_falls(total, parts):
    sizes = even(total, parts).tolist()

    assert sum(sizes) == total
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


@settings(derandomize=True)
@given(st.integers(0, 10_000), weights, st.sampled_from([0.0, 0.25, 0.5]))
def test_apportioning_cuts_at_the_rounded_down_cumulative_shares(total, shares, offset):
    parts = apportion(total, np.array(shares), offset).tolist()

    exact = [Fraction(total * sum(shares[: i + 1]), sum(shares)) for i in range(len(shares))]
    cuts = [min(total, math.floor(cut + Fraction(offset))) for cut in exact]
    assert parts == [b - a for a, b in zip([0, *cuts], cuts, strict=False)]


@settings(derandomize=True)
@given(st.integers(0, 10_000), weights, st.floats(1e-6, 1.0))
def test_fractional_shares_are_used_up_and_nothing_goes_where_there_is_no_share(
    total, shares, scale
):
    parts = apportion(total, np.array(shares) * scale)

    assert parts.sum() == total
    assert (parts >= 0).all()
    assert not parts[np.array(shares) == 0].any()


def test_a_random_offset_favours_no_part():
    generator = np.random.default_rng(0)

    parts = np.mean([apportion(5, np.ones(10), generator.random()) for _ in range(2000)], axis=0)

    assert np.abs(parts - 0.5).max() < 0.05  # four standard errors are 0.045


@pytest.mark.parametrize("alpha", [0.05, 0.5, 5.0])
def test_shares_have_the_moments_of_a_dirichlet_law(alpha):
    parts, draws = 4, 40_000
    logs = log_dirichlet(np.random.default_rng(1), alpha, (draws, parts))

    shares = np.array([open_shares(row, np.ones(parts, dtype=bool)) for row in logs])

    variance = (1 / parts) * (1 - 1 / parts) / (parts * alpha + 1)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert shares.mean(axis=0) == pytest.approx(1 / parts, abs=0.01)
    assert shares.var(axis=0) == pytest.approx(variance, rel=0.05)


def test_shares_over_the_open_parts_are_the_old_ones_renormalised():
    shares, is_open = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, True, False])

    opened = open_shares(np.log(shares), is_open)

    assert opened == pytest.approx([0.25, 0.0, 0.75, 0.0])


@pytest.mark.parametrize("alpha", [1e-12, 1e-3, 1e12])
def test_shares_stay_laws_at_the_ends_of_the_range(alpha):
    logs = log_dirichlet(np.random.default_rng(2), alpha, (50,))

    for left in range(50, 0, -1):
        shares = open_shares(logs, np.arange(50) < left)

        assert shares.sum() == pytest.approx(1.0)


def test_at_a_tiny_alpha_what_the_mask_leaves_is_one_open_client_uniformly_chosen():
    generator, is_open = np.random.default_rng(3), np.array([False, True, True, True])

    chosen = [
        open_shares(log_dirichlet(generator, 1e-6, (4,)), is_open).round(6).tolist()
        for _ in range(900)
    ]

    counts = [chosen.count(row) for row in np.eye(4)[1:].tolist()]
    assert sum(counts) == 900
    assert min(counts) > 240  # 300 expected, 60 is four standard deviations


def test_test_examples_follow_training_examples_class_by_class():
    owners = np.repeat([0, 1, 2], [30, 10, 60])
    labels = np.concatenate([np.zeros(30), np.zeros(10), np.ones(60)]).astype(np.int64)
    test_labels = np.array([0] * 8 + [1] * 6 + [2] * 3)

    dealt = follow(np.random.default_rng(0), owners, labels, test_labels, clients=3)

    assert np.bincount(dealt[test_labels == 0], minlength=3).tolist() == [6, 2, 0]
    assert np.bincount(dealt[test_labels == 1], minlength=3).tolist() == [0, 0, 6]
    assert np.bincount(dealt[test_labels == 2], minlength=3).tolist() == [1, 1, 1]


def test_the_first_client_gains_from_rounding_as_often_as_the_others():
    owners, labels = np.tile(np.arange(10), 200), np.repeat(np.arange(200), 10)
    test_labels = np.repeat(np.arange(200), 5)  # half an example per client and class

    dealt = follow(np.random.default_rng(0), owners, labels, test_labels, clients=10)

    counts = np.bincount(dealt, minlength=10)
    assert np.abs(counts - 100).max() < 30  # four standard deviations are 28
