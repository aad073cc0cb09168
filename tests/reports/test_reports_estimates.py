import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from terrafl.reports.estimates import difference, estimate, score_methods

percentages = st.floats(0, 100, allow_nan=False)
by_seed = st.dictionaries(st.integers(0, 9), percentages, min_size=2, max_size=6)


def test_a_mean_comes_with_the_sample_standard_deviation():
    values = [80.0, 82.0, 87.0]

    got = estimate(values)

    mean = (80 + 82 + 87) / 3
    assert got.mean == pytest.approx(mean)
    assert got.sd == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in values) / 2))
    assert got.num_seeds == 3


def test_one_seed_has_a_mean_but_no_standard_deviation():
    assert estimate([80.0]).sd is None


def test_nothing_has_no_estimate():
    assert estimate([]) is None


@settings(derandomize=True)
@given(by_seed, by_seed)
def test_the_interval_is_the_paired_student_t_interval(one, other):
    common = sorted(set(one) & set(other))
    differences = [one[seed] - other[seed] for seed in common]

    got = difference(one, other)

    if len(common) < 2:
        assert got is None or (got.low, got.high) == (None, None)
        return
    mean = sum(differences) / len(common)
    scale = statistics.stdev(differences) / math.sqrt(len(common))
    half = stats.t.ppf(0.975, len(common) - 1) * scale
    assert got.mean == pytest.approx(mean, abs=1e-9)
    assert got.low == pytest.approx(mean - half, abs=1e-9)
    assert got.high == pytest.approx(mean + half, abs=1e-9)
    assert got.num_seeds == len(common)


def test_only_common_seeds_are_paired():
    got = difference({0: 10.0, 1: 20.0, 2: 99.0}, {0: 11.0, 1: 23.0, 7: 0.0})

    assert got.mean == pytest.approx(-2.0)
    assert got.num_seeds == 2


def test_methods_without_a_common_seed_have_no_difference():
    assert difference({0: 10.0}, {1: 10.0}) is None


def test_with_one_common_seed_nothing_is_said_about_noise():
    got = difference({0: 10.0}, {0: 12.0, 1: 13.0})

    assert got.mean == -2.0
    assert got.within_noise is None


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ({0: 78.9, 1: 79.1, 2: 79.0}, False),  # one point behind, every time
        ({0: 70.0, 1: 89.0, 2: 78.0}, True),  # one point behind, at random
        ({0: 80.0, 1: 80.0, 2: 80.0}, True),  # no difference at all
        ({0: 79.0, 1: 79.0, 2: 79.0}, False),  # the same difference every time
    ],
)
def test_a_difference_is_within_noise_when_its_interval_contains_0(method, expected):
    best = {0: 80.0, 1: 80.0, 2: 80.0}

    assert difference(method, best).within_noise is expected


def test_methods_are_ranked_by_mean_and_compared_to_the_highest():
    scores = score_methods([{0: 70.0, 1: 72.0}, {0: 90.0, 1: 91.0}, {0: 80.0, 1: 80.0}])

    assert [score.rank for score in scores] == [3, 1, 2]
    assert scores[1].to_best is None
    assert scores[2].to_best.mean == pytest.approx(-10.5)


def test_equal_means_share_a_rank_and_the_first_is_the_reference():
    scores = score_methods([{0: 80.0}, {0: 80.0}, {0: 70.0}])

    assert [score.rank for score in scores] == [1, 1, 3]
    assert scores[0].to_best is None
    assert scores[1].to_best.mean == 0


def test_a_method_without_values_has_neither_rank_nor_difference():
    scores = score_methods([{}, {0: 80.0, 1: 81.0}])

    assert scores[0].estimate is None
    assert scores[0].rank is None
    assert scores[0].to_best is None
    assert scores[1].rank == 1


def test_no_values_at_all_are_no_error():
    assert [score.rank for score in score_methods([{}, {}])] == [None, None]
