"""Two clients with unequal optima: who reaches the minimum of the sum, and who does not.

Client k minimises (a_k / 2) (y - m_k)^2, on whole gradients. The minimum of the plain sum is
(a_1 m_1 + a_2 m_2) / (a_1 + a_2). Local steps pull FedAvg elsewhere.
"""

from dataclasses import replace

import numpy as np
import pytest
from made_updates import an_update

from terrafl.algorithms import ALGORITHMS, LocalStep, RunFacts
from terrafl.algorithms.means import weighted_mean
from terrafl.records import Population
from terrafl.runs.slot_file import SlotFile

CURVATURES, OPTIMA = {"a": 1.0, "b": 8.0}, {"a": 1.0, "b": 0.0}
MINIMUM = 1 / 9
POPULATION = Population.of({"a": 10, "b": 10})


def limit(algorithm, steps, rounds=400, rate=0.05):
    """Return the model after many rounds with both clients, each taking its number of steps."""
    theta = np.array([0.5], dtype=np.float32)
    algorithm.begin(
        RunFacts(
            model=theta,
            num_parameters=1,
            averaging="plain",
            optimizer="sgd",
            momentum=0.0,
            weight_decay=0.0,
            client_vectors=lambda names: SlotFile(None, 1, names),
        )
    )
    for _ in range(rounds):
        updates = []
        for client in ("a", "b"):
            shared = algorithm.shared(POPULATION)
            given = algorithm.give(client, POPULATION)
            y = theta.astype(float)
            for _ in range(steps[client]):
                gradient = CURVATURES[client] * (y - OPTIMA[client])
                step = LocalStep(gradient, y, theta, shared, given)
                y = y - rate * algorithm.correct_gradient(step)
            updates.append(
                replace(an_update(client, y), steps=steps[client], step_sum=rate * steps[client])
            )
        algorithm.learn(theta, updates, POPULATION)
        theta = algorithm.aggregate(theta, updates, POPULATION, weighted_mean)
    return float(next(iter(algorithm.readouts(theta).values()))[0])


MANY = {"a": 20, "b": 20}


def test_fedavg_ends_at_the_wrong_point():
    assert abs(limit(ALGORITHMS["fedavg"](), MANY) - MINIMUM) > 0.1


@pytest.mark.parametrize(
    "algorithm",
    [
        ALGORITHMS["scaffold"](),
        ALGORITHMS["feddyn"](alpha=1.0, evaluate="sent"),
        ALGORITHMS["feddyn"](alpha=1.0, evaluate="average"),
    ],
    ids=["scaffold", "feddyn sent", "feddyn average"],
)
def test_scaffold_and_feddyn_reach_the_minimum(algorithm):
    assert limit(algorithm, MANY) == pytest.approx(MINIMUM, abs=1e-4)


def test_fednova_repairs_unequal_steps():
    """With small steps FedAvg weighs a client by its steps; FedNova does not."""
    few = {"a": 1, "b": 8}
    fedavg, fednova = (
        limit(ALGORITHMS[name](), few, 2000, 0.002) for name in ("fedavg", "fednova")
    )

    weighed_by_steps = 1 * 1.0 / (1 * 1.0 + 8 * 8.0)
    assert abs(fedavg - weighed_by_steps) < abs(fedavg - MINIMUM)
    assert abs(fednova - MINIMUM) < abs(fedavg - MINIMUM) / 10
