"""The paper's scenarios beyond Fashion-MNIST, and ours, against the paper's text."""

import math

import pytest

from terrafl.data import AlphaGroups, ByOwner, available
from terrafl.experiments.config import resolve
from terrafl.experiments.config_layers import scenario_names
from terrafl.models import CIFAR10CNN, CIFAR100CNN, FEMNISTCNN, HARCNN, Linear
from terrafl.models.backbones.catalog import EfficientNetLite0Backbone, ResNet18Backbone
from terrafl.simulation.local_training import LocalTraining

# "CIFAR-10 uses 50 clients, and its following 3 scenarios are based on sampling rate = 0.2".
CIFAR10 = {
    "cifar10-1": (0.001, 0.01, 0.1, 0.5, 1),
    "cifar10-2": (0.001, 0.002, 0.005, 0.01, 0.5),
    "cifar10-3": (0.001, 0.002, 0.005, 0.01, 0.1),
}
ADAM = LocalTraining(optimizer="adam", learning_rate=0.001, epochs=2, batch_size=64)
SGD = LocalTraining(optimizer="sgd", learning_rate=0.01, epochs=5, batch_size=32)


@pytest.mark.parametrize("name", CIFAR10)
def test_a_scenario_of_cifar10_is_the_paper_s(name):
    config = resolve({"scenario": name})

    assert config.dataset == "cifar10"
    assert config.partition == AlphaGroups(clients=50, alphas=CIFAR10[name])
    assert config.clients_per_round == 0.2 * 50
    assert config.rounds == 500
    assert config.model == CIFAR10CNN()
    assert config.training == ADAM


def test_cifar100_is_the_paper_s():
    config = resolve({"scenario": "cifar100"})

    assert config.partition == AlphaGroups(clients=250, alphas=(0.1,))
    assert config.clients_per_round == 0.128 * 250
    assert config.rounds == 100
    assert config.model == CIFAR100CNN()
    assert config.training == ADAM


@pytest.mark.parametrize(
    ("name", "backbone"),
    [
        ("tiny-imagenet", ResNet18Backbone(input_size=128)),
        ("tiny-imagenet-lite0", EfficientNetLite0Backbone(input_size=128)),
    ],
)
def test_tiny_imagenet_is_the_paper_s_but_for_the_backbone_it_names(name, backbone):
    config = resolve({"scenario": name})

    assert config.dataset == "tiny-imagenet"
    assert config.partition == AlphaGroups(clients=500, alphas=(0.1,))
    assert config.clients_per_round == 0.058 * 500
    assert config.rounds == 100
    assert config.backbone == backbone
    assert config.model == Linear(init="small-normal")
    assert config.training == LocalTraining(
        optimizer="adam", learning_rate=0.01, epochs=2, batch_size=64
    )


def test_femnist_is_the_paper_s():
    config = resolve({"scenario": "femnist"})

    assert config.partition == ByOwner()
    assert config.clients_per_round == math.floor(0.011 * 3597)
    assert config.model == FEMNISTCNN()
    assert config.training == SGD
    assert config.rounds == 100  # the paper is silent


def test_unipen62_is_trained_as_femnist_is():
    config, femnist = resolve({"scenario": "unipen62"}), resolve({"scenario": "femnist"})

    assert (config.dataset, config.clients_per_round, config.rounds) == ("unipen62", 30, 100)
    assert config.partition == ByOwner()
    assert config.model == femnist.model
    assert config.training == femnist.training


def test_har_is_a_federation_of_people():
    config = resolve({"scenario": "har"})

    assert (config.dataset, config.clients_per_round, config.rounds) == ("har", 10, 100)
    assert config.partition == ByOwner()
    assert config.model == HARCNN()


@pytest.mark.parametrize("name", scenario_names())
def test_hics_has_its_authors_settings_for_the_optimiser(name):
    config = resolve({"scenario": name, "selector": "hics"})

    adam = config.training.optimizer == "adam"
    assert config.selector.temperature == (0.0015 if adam else 0.0025)
    assert config.selector.gamma == (2.0 if config.dataset == "tiny-imagenet" else 4.0)


@pytest.mark.parametrize("name", scenario_names())
def test_the_learning_rate_is_constant_and_the_literal_reading_one_setting_away(name):
    literal = {"scenario": name, "training": {"lr_decay": {"every": 10, "factor": 0.5}}}

    assert resolve({"scenario": name}).training.lr_decay is None
    assert resolve(literal).training.lr_decay.factor == 0.5


@pytest.mark.parametrize("dataset", available())
def test_every_data_set_has_a_scenario_of_its_own(dataset):
    assert resolve({"dataset": dataset}).dataset == dataset


def test_cifar10_without_a_scenario_is_the_first():
    assert resolve({"dataset": "cifar10"}).partition.alphas == CIFAR10["cifar10-1"]
