"""The paper's scenarios, against the paper's text."""

import pytest

from terrafl.data import AlphaGroups
from terrafl.experiments.config import resolve
from terrafl.experiments.config_layers import scenario_names
from terrafl.models import FMNISTCNN
from terrafl.simulation.local_training import LocalTraining

# "Scenarios for sampling rate = 0.1, 50 clients", and so on.
SKEWED = (0.001, 0.002, 0.005, 0.01, 0.5)
LESS = (0.001, 0.002, 0.005, 0.01, 0.2)
FMNIST = {
    "fmnist-1": (50, 0.1, SKEWED),
    "fmnist-2": (50, 0.1, LESS),
    "fmnist-3": (50, 0.1, (0.001,) * 5),
    "fmnist-1s": (50, 0.3, SKEWED),
    "fmnist-2s": (50, 0.3, LESS),
    "fmnist-3s": (50, 0.3, (0.001,) * 5),
    "fmnist-4": (100, 0.15, (0.1, 0.1, 0.1, 0.3, 0.3)),
    "fmnist-5": (100, 0.15, (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)),
}


def test_the_eight_scenarios_of_fmnist_are_there():
    assert {*FMNIST, "digits"} <= set(scenario_names())


@pytest.mark.parametrize("name", FMNIST)
def test_a_scenario_of_fmnist_is_the_paper_s(name):
    clients, sampling_rate, alphas = FMNIST[name]

    config = resolve({"scenario": name})

    assert config.dataset == "fmnist"
    assert config.partition == AlphaGroups(clients=clients, alphas=alphas)
    assert config.clients_per_round == round(sampling_rate * clients)
    assert config.rounds == 200
    assert config.model == FMNISTCNN()
    assert config.training == LocalTraining(
        optimizer="sgd",
        learning_rate=0.001,
        epochs=2,
        batch_size=64,
        momentum=0.9,  # the paper is silent: HiCS-FL's configuration
        weight_decay=5e-4,
    )


def test_clients_per_round_are_those_of_the_paper():
    per_round = [resolve({"scenario": name}).clients_per_round for name in FMNIST]

    assert per_round == [5, 5, 5, 15, 15, 15, 15, 15]


@pytest.mark.parametrize("name", scenario_names())
@pytest.mark.parametrize("selector", ["random", "hbase", "poc", "hics", "oort", "terraform"])
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox"])
def test_every_scenario_takes_every_method(name, selector, algorithm):
    config = resolve({"scenario": name, "selector": selector, "algorithm": algorithm})

    assert type(config.selector).name == selector
    assert type(config.algorithm).name == algorithm
    assert config.scenario == name


def test_fedprox_is_weighted_as_in_the_paper():
    assert resolve({"algorithm": "fedprox"}).algorithm.mu == 0.1
