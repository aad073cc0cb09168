from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data.partition.shares import tilt


def _shares(logs):
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 8), st.integers(1, 5))
def test_demand_meets_supply_by_weights_that_all_clients_share(seed, clients, classes):
    generator = np.random.default_rng(seed)
    laws = generator.normal(size=(clients, classes))
    sizes = generator.integers(10, 50, size=clients)
    stock = 1 + generator.multinomial(sizes.sum() - classes, np.ones(classes) / classes)

    tilted = tilt(laws, sizes, stock)

    assert sizes @ _shares(tilted) == pytest.approx(stock, rel=1e-3)
    log_weights = np.log(_shares(tilted)) - np.log(_shares(laws))
    differences = log_weights - log_weights[:, :1]  # without the constant of each client
    assert differences == pytest.approx(np.broadcast_to(differences[0], differences.shape))


def test_laws_that_already_add_up_are_left_alone():
    laws = np.log([[0.75, 0.25], [0.25, 0.75]])

    tilted = tilt(laws, np.array([8, 8]), np.array([8, 8]))

    assert _shares(tilted) == pytest.approx(np.exp(laws))


def test_laws_that_cannot_be_reconciled_stay_laws():
    laws = np.array([[0.0, -1e12], [0.0, -1e12], [0.0, -1e12]])

    tilted = tilt(laws, np.array([5, 5, 5]), np.array([10, 5]))

    assert _shares(tilted).sum(axis=1) == pytest.approx(1.0)
