"""The formulas of HiCS-FL against slow, simple versions."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from terrafl.selection.hics.clusters import (
    direction,
    distances,
    entropy,
    row_means,
    softmax,
    ward_clusters,
)

small = st.integers(-40, 40).map(lambda tenths: tenths / 4000)
any_finite = st.floats(allow_nan=False, allow_infinity=False)


@given(arrays(np.float64, st.integers(1, 12), elements=small))
@settings(derandomize=True, deadline=None)
def test_the_entropy_is_that_of_the_softmax(update):
    weights = [math.exp(b / 0.0025) for b in update.tolist()]
    chances = [weight / sum(weights) for weight in weights]

    slow = -sum(p * math.log(p) for p in chances)

    assert entropy(update, 0.0025) == pytest.approx(slow, abs=1e-9)


@given(arrays(np.float64, st.integers(1, 12), elements=any_finite))
@settings(derandomize=True, deadline=None)
def test_no_update_however_large_breaks_the_entropy(update):
    assert -1e-9 <= entropy(update, 0.0025) <= math.log(len(update)) + 1e-9


def test_a_balanced_client_has_the_entropy_of_all_classes():
    assert entropy(np.zeros(10), 0.0025) == pytest.approx(math.log(10))
    assert entropy(np.array([1.0] + [0.0] * 9), 0.0025) == pytest.approx(0.0)


@given(arrays(np.float64, st.integers(1, 12), elements=any_finite))
@settings(derandomize=True, deadline=None)
def test_a_direction_has_length_one_unless_the_update_is_zero(update):
    unit = direction(update)

    assert math.hypot(*unit) == pytest.approx(1.0 if update.any() else 0.0)
    assert (np.sign(unit) * np.sign(update) >= 0).all()


@given(arrays(np.float64, (4, 3), elements=any_finite))
@settings(derandomize=True, deadline=None)
def test_row_means_never_overflow(weight):
    assert np.isfinite(row_means(weight)).all()


def test_row_means_are_the_means_of_the_rows():
    weight = np.arange(24.0).reshape(4, 3, 2)

    assert row_means(weight).tolist() == [weight[i].mean() for i in range(4)]


@given(arrays(np.float64, (6, 4), elements=small), arrays(np.float64, 6, elements=st.floats(0, 2)))
@settings(derandomize=True, deadline=None)
def test_the_distance_is_the_angle_and_the_difference_in_entropy(updates, entropies):
    got = distances(np.array([direction(u) for u in updates]), entropies, 10.0)

    for u in range(6):
        for k in range(6):
            lengths = math.hypot(*updates[u]) * math.hypot(*updates[k])
            angle = 0.0
            if updates[u].any() and updates[k].any() and u != k:
                cosine = float(updates[u] @ updates[k]) / lengths
                angle = math.acos(min(1.0, max(-1.0, cosine)))
            expected = angle + 10.0 * abs(entropies[u] - entropies[k])
            # Near an angle of 0 twelve digits of the cosine are six of the angle.
            assert got[u, k] == pytest.approx(expected, abs=1e-5)
    assert np.array_equal(got, got.T)


def test_a_client_and_itself_are_at_distance_zero():
    updates = np.random.default_rng(0).normal(size=(50, 7))

    got = distances(np.array([direction(u) for u in updates]), np.zeros(50), 10.0)

    assert not np.diag(got).any()


def merging_cost(a, b):
    """Return the increase of the sum of squares when two clusters are merged."""
    gap = np.linalg.norm(a.mean(axis=0) - b.mean(axis=0))
    return len(a) * len(b) / (len(a) + len(b)) * gap**2


def slow_ward(rows, num_clusters):
    """Merge the two clusters with the cheapest union until few enough are left."""
    clusters = [frozenset({i}) for i in range(len(rows))]
    while len(clusters) > num_clusters:
        costs = {
            (a, b): merging_cost(rows[sorted(a)], rows[sorted(b)])
            for a, b in combinations(clusters, 2)
        }
        a, b = min(costs, key=costs.get)
        clusters = [c for c in clusters if c not in (a, b)] + [a | b]
    return set(clusters)


@pytest.mark.parametrize("num_clusters", [1, 3, 5, 12])
def test_clusters_are_those_of_ward(num_clusters):
    rows = np.random.default_rng(3).normal(size=(12, 12))

    labels = ward_clusters(rows, num_clusters)

    found = {frozenset(np.flatnonzero(labels == m).tolist()) for m in set(labels.tolist())}
    assert found == slow_ward(rows, num_clusters)


def test_clusters_are_numbered_by_first_appearance():
    rows = np.array([[9.0], [0.0], [9.1], [5.0], [0.1]])

    assert ward_clusters(rows, 3).tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize(("count", "wanted"), [(1, 5), (2, 5), (3, 1)])
def test_few_clients_form_few_clusters(count, wanted):
    labels = ward_clusters(np.arange(count, dtype=np.float64)[:, None], wanted)

    assert len(set(labels.tolist())) == min(count, wanted)


@pytest.mark.parametrize("logits", [[0.0, 1.0, 2.0], [1e300, 0.0], [-700.0, -701.0]])
def test_the_softmax_sums_to_one(logits):
    chances = softmax(np.array(logits))

    assert chances.sum() == pytest.approx(1.0)
    assert (np.diff(chances)[np.diff(logits) > 0] > 0).all()
