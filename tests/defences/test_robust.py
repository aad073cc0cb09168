"""Robust aggregation against slow, obvious versions of its formulas."""

import itertools
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_updates import an_update

from terrafl.algorithms import FedAvg, FedProx
from terrafl.defences.robust import AGGREGATIONS, Krum, Median, MultiKrum, TrimmedMean, krum_scores
from terrafl.errors import ConfigurationError
from terrafl.experiments.config import resolve

RECEIVED = np.zeros(3, dtype=np.float32)


def models(rows, weights=None):
    return [
        an_update(f"{i:02}", row, weights[i] if weights else 1.0 + i) for i, row in enumerate(rows)
    ]


rows = st.integers(5, 11).flatmap(
    lambda n: st.lists(
        st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=3), min_size=n, max_size=n
    )
)
slowly = settings(derandomize=True, max_examples=60, deadline=None)


@slowly
@given(rows)
def test_the_median_is_the_middle_of_every_coordinate(values):
    result = Median().mean(RECEIVED, models(values))

    columns = zip(*np.float32(values).tolist(), strict=True)
    assert result.tolist() == pytest.approx([statistics.median(c) for c in columns])


@slowly
@given(rows, st.integers(0, 2))
def test_the_trimmed_mean_leaves_out_both_ends_of_every_coordinate(values, f):
    result = TrimmedMean(attackers=f).mean(RECEIVED, models(values))

    inner = [sorted(c)[f : len(c) - f] for c in zip(*np.float32(values).tolist(), strict=True)]
    assert result.tolist() == pytest.approx([statistics.fmean(c) for c in inner], abs=1e-4)


def slow_scores(values, f):
    """Sum the squared distances to the n - f - 2 nearest others, one pair at a time."""
    scores = []
    for k, own in enumerate(values):
        others = [v for j, v in enumerate(values) if j != k]
        squared = sorted(sum((a - b) ** 2 for a, b in zip(own, v, strict=True)) for v in others)
        scores.append(sum(squared[: len(values) - f - 2]))
    return scores


@slowly
@given(rows, st.integers(0, 1))
def test_a_score_is_the_distance_to_the_nearest_neighbours(values, f):
    scores = krum_scores(models(values), f)

    assert scores.tolist() == pytest.approx(slow_scores(np.float32(values).tolist(), f), rel=1e-9)


@slowly
@given(rows, st.integers(0, 1))
def test_krum_takes_the_model_of_the_least_score(values, f):
    result = Krum(attackers=f).mean(RECEIVED, models(values))

    scores = krum_scores(models(values), f)
    assert result.tobytes() == np.float32(values[int(scores.argmin())]).tobytes()


@slowly
@given(rows, st.integers(0, 1), st.integers(0, 4))
def test_multi_krum_averages_the_models_of_the_least_scores_plainly(values, f, keep):
    mean = MultiKrum(attackers=f, keep=keep).mean(RECEIVED, models(values))

    most = len(values) - f - 2
    scores = krum_scores(models(values), f)
    chosen = np.argsort(scores, kind="stable")[: min(keep, most) if keep else most]
    expected = np.float32(values)[chosen].mean(axis=0, dtype=np.float64)
    assert mean == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("algorithm", [FedAvg(), FedProx()], ids=lambda a: a.name)
@pytest.mark.parametrize("name", AGGREGATIONS)
@pytest.mark.parametrize("bad", [1e30, -1e30, 7.0])
def test_one_attacker_in_five_cannot_leave_the_honest_range(name, algorithm, bad):
    honest = [[1.0, 2, 3], [1.1, 2.1, 3.1], [0.9, 1.9, 2.9], [1.05, 2, 3]]
    cohort = models([*honest, [bad] * 3], weights=[1, 1, 1, 1, 1e12])

    result = algorithm.aggregate(RECEIVED, cohort, None, AGGREGATIONS[name](attackers=1).mean)

    low, high = np.min(honest, axis=0) - 1e-6, np.max(honest, axis=0) + 1e-6
    assert (low <= result).all()
    assert (result <= high).all()


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_a_rule_decides_the_next_model_to_the_bit(name):
    cohort = models(np.random.default_rng(3).normal(size=(7, 3)))
    rule = AGGREGATIONS[name]()

    result = FedAvg().aggregate(RECEIVED, cohort, None, rule.mean)

    assert result.tobytes() == rule.mean(RECEIVED, cohort).tobytes()


@pytest.mark.parametrize(
    ("name", "attackers", "least"),
    [("median", 2, 5), ("trimmed-mean", 2, 5), ("krum", 1, 5), ("multi-krum", 2, 7)],
)
def test_cohorts_too_small_for_the_attackers_are_refused_with_a_sentence(name, attackers, least):
    def configured(eta, **settings):
        return resolve(
            {
                "selector": {"name": "terraform", "eta": eta, **settings},
                "aggregation": {"name": name, "attackers": attackers},
            }
        )

    message = rf"at least {least} clients for {name} .*got cohorts of {least - 1} .*selector"
    with pytest.raises(ConfigurationError, match=message):
        configured(least - 1)
    assert configured(least).aggregation.least_models == least
    assert configured(1, anchor=True).aggregation.attackers == attackers  # averages whole rounds


def test_selectors_of_one_iteration_are_judged_by_their_whole_cohort():
    for selector, size in itertools.product(("random", "oort", "hics"), (4, 5)):
        layer = {"selector": selector, "clients_per_round": size, "aggregation": "krum"}
        if size == 5:
            assert resolve(layer).aggregation == Krum()
        else:
            with pytest.raises(ConfigurationError, match=r"got cohorts of 4 .clients_per_round."):
                resolve(layer)


def test_without_a_rule_the_configuration_says_nothing_of_it():
    plain = resolve({"selector": "terraform"}).to_plain()

    assert not {"aggregation", "guard", "attack"} & plain.keys()
