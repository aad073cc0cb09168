"""The weighted mean of local models."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_updates import an_update

from terrafl.algorithms import FedAvg, FedProx
from terrafl.algorithms.means import weighted_mean

values = st.floats(-(2.0**60), 2.0**60, width=32)
weights = st.integers(1, 10**9).map(float)
cohorts = st.integers(1, 5).flatmap(
    lambda length: st.lists(
        st.tuples(arrays(np.float32, length, elements=values), weights), min_size=1, max_size=6
    )
)


def mean_of(updates):
    return weighted_mean(updates[0].vector, updates)


def local_models(pairs):
    return [an_update(str(i), vector, weight) for i, (vector, weight) in enumerate(pairs)]


@given(pairs=cohorts)
@settings(derandomize=True, deadline=None)
def test_the_mean_is_right_to_half_a_float32(pairs):
    mean = mean_of(local_models(pairs))

    mass = sum(Fraction(weight) for _, weight in pairs)
    for i, got in enumerate(mean.tolist()):
        terms = [Fraction(float(vector[i])) * Fraction(weight) for vector, weight in pairs]
        exact, size = sum(terms) / mass, sum(map(abs, terms)) / mass
        rounding = Fraction(2.0**-24) * abs(exact) + Fraction(2.0**-150)
        assert abs(Fraction(got) - exact) <= rounding + Fraction(2.0**-49) * size


@given(pairs=cohorts)
@settings(derandomize=True, deadline=None)
def test_the_mean_is_summed_in_float64_in_the_order_given(pairs):
    mean = mean_of(local_models(pairs))

    def slowly(i):
        total = 0.0
        for vector, weight in pairs:
            total += float(vector[i]) * weight
        return total / sum(weight for _, weight in pairs)

    expected = np.array([slowly(i) for i in range(len(mean))], dtype=np.float32)
    assert mean.tobytes() == expected.tobytes()


def test_the_order_reaches_the_last_bits():
    # In float64 the small one is lost beside the large one, unless the large ones cancel first.
    large, small = np.float32([2.0**60]), np.float32([1.0])
    pairs = [(large, 1.0), (small, 1.0), (-large, 1.0)]

    in_order = mean_of(local_models(pairs))
    reordered = mean_of(local_models([pairs[0], pairs[2], pairs[1]]))

    assert in_order.tolist() == [0.0]
    assert reordered.tolist() == [np.float32(1 / 3)]


def test_the_models_averaged_are_left_as_they_are():
    vector = np.float32([1, 2])

    mean_of(local_models([(vector, 3.0), (np.float32([5, 6]), 1.0)]))

    assert vector.tolist() == [1, 2]


def test_the_mean_of_one_model_is_that_model():
    vector = np.float32([0.1, -3e38, 1e-45])

    assert mean_of(local_models([(vector, 7.0)])).tobytes() == vector.tobytes()


@pytest.mark.parametrize("algorithm", [FedAvg(), FedProx(mu=0.3)], ids=["fedavg", "fedprox"])
def test_both_algorithms_take_the_weighted_mean_whatever_was_received(algorithm):
    models = local_models([(np.float32([0, 2]), 1.0), (np.float32([4, 2]), 3.0)])

    mean = algorithm.aggregate(np.float32([100, 100]), models, None, weighted_mean)

    assert mean.dtype == np.float32
    assert mean.tolist() == [3.0, 2.0]
