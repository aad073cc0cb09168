from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data.holdout import hold_out, hold_out_runs
from terrafl.errors import ConfigurationError

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=12)
SEEDS = st.integers(0, 2**32)


def _owners(sizes, seed):
    """Return owners of these sizes, mixed."""
    owners = np.repeat(np.arange(len(sizes)).astype(np.str_), sizes)
    return np.random.default_rng(seed).permutation(owners)


@settings(derandomize=True, deadline=None)
@given(SIZES, SEEDS, st.sampled_from([0.1, 0.2, 0.5]))
def test_every_owner_of_two_or_more_gives_its_share_and_at_least_one(sizes, seed, fraction):
    owners = _owners(sizes, seed)

    held = hold_out(owners, fraction, np.random.default_rng(seed))

    for number, size in enumerate(sizes):
        expected = max(1, math.floor(fraction * size + 0.5)) if size > 1 else 0
        assert held[owners == str(number)].sum() == expected


def test_every_example_of_an_owner_is_as_likely_as_any_other():
    owners, generator = np.array(["b"] * 5 + ["a"] * 5), np.random.default_rng(0)

    times = sum(hold_out(owners, 0.2, generator).astype(int) for _ in range(4000))

    assert times == pytest.approx(np.full(10, 800), abs=110)


def test_the_generator_alone_decides_who_is_held_out():
    owners = _owners([30, 20], 0)

    first, again, other = (hold_out(owners, 0.1, np.random.default_rng(s)) for s in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.fixture
def runs():
    """Three owners of 20, 4 and 1 runs, of 1 to 9 examples each."""
    sizes = np.random.default_rng(3).integers(1, 10, 25)
    run = np.repeat(np.arange(25), sizes)
    owner = np.where(run < 20, "a", np.where(run < 24, "b", "c"))
    return owner, run


def test_runs_are_held_out_whole(runs):
    owner, run = runs

    held = hold_out_runs(owner, run, 0.2, np.random.default_rng(0))

    for number in np.unique(run):
        assert len(set(held[run == number].tolist())) == 1


@pytest.mark.parametrize("seed", range(20))
def test_as_many_runs_are_held_out_as_come_nearest_to_the_share(runs, seed):
    owner, run = runs

    held = hold_out_runs(owner, run, 0.2, np.random.default_rng(seed))

    for name in "ab":
        own = owner == name
        longest = max(np.bincount(run[own]))
        assert abs(held[own].sum() - 0.2 * own.sum()) <= longest
        assert 0 < held[own].sum() < own.sum()


def test_an_owner_of_a_single_run_keeps_it(runs):
    owner, run = runs

    assert not hold_out_runs(owner, run, 0.5, np.random.default_rng(0))[owner == "c"].any()


@pytest.mark.parametrize("fraction", [0.0, -0.1, 0.51, float("nan")])
def test_a_fraction_outside_its_range_is_refused(fraction, runs):
    owner, run = runs

    for use in (
        lambda: hold_out(owner, fraction, np.random.default_rng(0)),
        lambda: hold_out_runs(owner, run, fraction, np.random.default_rng(0)),
    ):
        with pytest.raises(ConfigurationError, match="fraction must be above 0"):
            use()
