"""HBase: draws in proportion to size, averaged plainly."""

from itertools import permutations

import numpy as np
import pytest

from terrafl.records import Population
from terrafl.selection.hbase import HBase

POPULATION = Population.of({"a": 10, "b": 20, "c": 30, "d": 40})
CHANCES = np.array([0.1, 0.2, 0.3, 0.4])
ROUNDS = 2000


def counts(selector, make_context, clients_per_round, available=None):
    """Return how often each client was drawn over many rounds."""
    total = np.zeros(len(POPULATION))
    for number in range(ROUNDS):
        context = make_context(
            POPULATION, round=number, clients_per_round=clients_per_round, available=available
        )
        cohort = selector.draw(context)
        total[POPULATION.index(cohort.clients)] += cohort.draws
    return total


def test_with_replacement_each_draw_follows_the_sizes(make_context):
    frequencies = counts(HBase(), make_context, 5) / (5 * ROUNDS)

    # 10,000 independent draws: the standard deviation is at most 0.0049.
    assert frequencies == pytest.approx(CHANCES, abs=5 * 0.0049)


def test_the_plain_mean_over_draws_is_unbiased(make_context):
    values = np.array([4.0, -1.0, 2.0, 0.5])
    weighted_mean = CHANCES @ values

    plain_mean = counts(HBase(), make_context, 5) @ values / (5 * ROUNDS)

    # The values' standard deviation is below 2: over 10,000 draws, below 0.02.
    assert plain_mean == pytest.approx(weighted_mean, abs=5 * 0.02)


def test_without_replacement_clients_follow_successive_draws(make_context):
    # Of each ordered pair, the chance of its first client times that of its second, renormalised.
    expected = np.zeros(4)
    for first, second in permutations(range(4), 2):
        chance = CHANCES[first] * CHANCES[second] / (1 - CHANCES[first])
        expected[[first, second]] += chance

    frequencies = counts(HBase(replace=False), make_context, 2) / ROUNDS

    # 2,000 rounds: the standard deviation is at most 0.0112.
    assert frequencies == pytest.approx(expected, abs=5 * 0.0112)


def test_chances_are_shared_among_the_clients_within_reach(make_context):
    reach = np.array([True, False, False, True])

    frequencies = counts(HBase(), make_context, 5, available=reach) / (5 * ROUNDS)

    assert frequencies == pytest.approx([0.2, 0, 0, 0.8], abs=5 * 0.0049)


def test_every_draw_counts_towards_the_weight(make_context):
    cohort = HBase().draw(make_context(POPULATION, clients_per_round=12))

    assert sum(cohort.draws) == 12
    assert len(cohort) <= 4


def test_without_replacement_nobody_is_drawn_twice(make_context):
    cohort = HBase(replace=False).draw(make_context(POPULATION, clients_per_round=12))

    assert cohort.clients == ("a", "b", "c", "d")
    assert cohort.draws == (1, 1, 1, 1)


def test_the_cohort_is_averaged_plainly():
    assert HBase.averaging == "plain"
