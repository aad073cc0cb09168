"""What clients minimise: gradients against finite differences of the documented objective."""

import math

import numpy as np
import pytest
import torch

from terrafl.algorithms import FedAvg, FedProx, LocalStep
from terrafl.errors import ConfigurationError


def local_loss(theta):
    """Return F_k of a made-up client: softmax regression on three examples of two features."""
    x = np.array([[1.0, -2.0], [0.5, 0.3], [-1.5, 2.5]])
    y = [2, 0, 1]
    scores = x @ theta.reshape(3, 2).T
    return float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[range(3), y]))


def numerical_gradient(function, theta, step=1e-6):
    """Return central differences."""
    moves = step * np.eye(len(theta))
    return np.array([(function(theta + m) - function(theta - m)) / (2 * step) for m in moves])


@pytest.fixture
def points():
    generator = np.random.default_rng(5)
    return generator.normal(size=6), generator.normal(size=6)


@pytest.mark.parametrize("mu", [0.0, 0.1, 1.0, 7.5])
def test_the_gradient_of_fedprox_is_that_of_its_objective(mu, points):
    theta, anchor = points

    def objective(at):
        return local_loss(at) + mu / 2 * np.linalg.norm(at - anchor) ** 2

    corrected = FedProx(mu=mu).correct_gradient(
        LocalStep(numerical_gradient(local_loss, theta), theta, anchor, {}, {})
    )

    assert corrected == pytest.approx(numerical_gradient(objective, theta), abs=1e-7)


def test_the_gradient_is_the_same_for_tensors(points):
    theta, anchor = points
    gradient = numerical_gradient(local_loss, theta)

    on_arrays = FedProx(mu=0.4).correct_gradient(LocalStep(gradient, theta, anchor, {}, {}))
    tensors = map(torch.from_numpy, (gradient, theta, anchor))
    on_tensors = FedProx(mu=0.4).correct_gradient(LocalStep(*tensors, {}, {}))

    assert on_tensors.numpy() == pytest.approx(on_arrays, rel=1e-15)


def test_at_the_anchor_nothing_is_corrected(points):
    theta, _ = points
    gradient = numerical_gradient(local_loss, theta)

    assert np.array_equal(
        FedProx(mu=3.0).correct_gradient(LocalStep(gradient, theta, theta, {}, {})), gradient
    )


def test_fedavg_minimises_the_loss_itself(points):
    theta, anchor = points
    gradient = numerical_gradient(local_loss, theta)

    assert not FedAvg().corrects_gradients
    assert np.array_equal(
        FedAvg().correct_gradient(LocalStep(gradient, theta, anchor, {}, {})), gradient
    )


@pytest.mark.parametrize(("mu", "corrects"), [(0.0, False), (1e-9, True)])
def test_fedprox_without_weight_has_nothing_to_correct(mu, corrects):
    assert FedProx(mu=mu).corrects_gradients is corrects


@pytest.mark.parametrize("mu", [-0.1, math.inf, math.nan])
def test_a_weight_that_cannot_be_meant_is_refused(mu):
    with pytest.raises(ConfigurationError, match=r"^mu must be a finite number of at least 0"):
        FedProx(mu=mu)
