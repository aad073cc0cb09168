"""The networks: their sizes by hand, their final layers, their initial weights."""

import math

import pytest
import torch
from torch import nn

from terrafl.errors import ConfigurationError
from terrafl.models import FMNISTCNN, MLP, MODELS, Linear
from terrafl.seeds import torch_stream

NETWORKS = [
    (Linear(), (1, 8, 8)),
    (MLP(), (1, 8, 8)),
    (MLP(hidden=(64,)), (1, 8, 8)),
    (FMNISTCNN(), (1, 28, 28)),
    (FMNISTCNN(variant="hics"), (1, 28, 28)),
]
CONVOLUTIONS = (25 * 1 * 32 + 32) + (25 * 32 * 32 + 32)  # 5x5: 1 to 32, 32 to 32 channels
PARAMETERS = [
    64 * 10 + 10,
    (64 * 200 + 200) + (200 * 200 + 200) + (200 * 10 + 10),
    (64 * 64 + 64) + (64 * 10 + 10),
    CONVOLUTIONS + (512 * 10 + 10),  # 32 channels of 4 x 4 pixels are left
    CONVOLUTIONS + (512 * 10 + 10) + 2 * 1 + 2 * (32 + 32),  # PReLU, batch norm
]


@pytest.mark.parametrize(
    ("model", "shape", "expected"),
    [(model, shape, count) for (model, shape), count in zip(NETWORKS, PARAMETERS, strict=True)],
    ids=str,
)
def test_parameters_are_as_many_as_counted_by_hand(model, shape, expected):
    network = model.build(shape, 10)

    assert sum(parameter.numel() for parameter in network.parameters()) == expected


@pytest.mark.parametrize(("model", "shape"), NETWORKS, ids=str)
def test_the_final_layer_gives_one_score_per_class(model, shape):
    network = model.build(shape, 7)
    seen = []
    network.get_submodule(model.final_layer).register_forward_hook(
        lambda module, inputs, output: seen.append(output)
    )

    scores = network(torch.rand(3, *shape, generator=torch.Generator().manual_seed(0)))

    assert scores.shape == (3, 7)
    assert seen[0] is scores
    assert isinstance(network.get_submodule(model.final_layer), nn.Linear)


def test_the_hics_variant_adds_what_its_authors_program_has():
    kinds = {type(module) for module in FMNISTCNN(variant="hics").build((1, 28, 28), 10).modules()}

    assert {nn.PReLU, nn.BatchNorm2d, nn.Dropout} <= kinds
    assert nn.ReLU not in kinds


def test_the_plain_network_has_neither_norm_nor_dropout():
    kinds = {type(module) for module in FMNISTCNN().build((1, 28, 28), 10).modules()}

    assert not {nn.PReLU, nn.BatchNorm2d, nn.Dropout} & kinds


@pytest.mark.parametrize(
    ("name", "fan_in", "fan_out"),
    [("conv1", 25 * 1, 25 * 32), ("conv2", 25 * 32, 25 * 32), ("head", 512, 10)],
)
def test_the_convolutional_network_starts_xavier_uniform_with_the_gain_of_relu(
    name, fan_in, fan_out
):
    with torch_stream(0, "model"):
        layer = FMNISTCNN().build((1, 28, 28), 10).get_submodule(name)

    bound = math.sqrt(2) * math.sqrt(6 / (fan_in + fan_out))
    largest = layer.weight.abs().max().item()
    assert 0.97 * bound < largest <= bound
    assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)


@pytest.mark.parametrize("shape", [(64,), (1, 8, 8), (1, 28, 15)], ids=str)
def test_inputs_too_small_for_the_convolutions_are_refused(shape):
    with pytest.raises(ConfigurationError, match="images of at least 16 x 16 pixels"):
        FMNISTCNN().build(shape, 10)


@pytest.mark.parametrize("side", [16, 28, 33])
def test_images_of_other_sizes_fit(side):
    network = FMNISTCNN().build((3, side, side), 10)

    assert network(torch.zeros(2, 3, side, side)).shape == (2, 10)


def test_a_layer_without_units_is_refused():
    with pytest.raises(ConfigurationError, match=r"^hidden must be 1 or more units"):
        MLP(hidden=(64, 0))


def test_every_network_is_in_the_catalogue_under_its_name():
    assert {Linear, MLP, FMNISTCNN} <= set(MODELS.values())
    assert all(model.name == name for name, model in MODELS.items())
