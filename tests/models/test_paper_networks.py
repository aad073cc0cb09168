"""The networks of the paper's other data sets, and of ours."""

import math

import pytest
import torch
from torch import nn

from terrafl.errors import ConfigurationError
from terrafl.models import CIFAR10CNN, CIFAR100CNN, FEMNISTCNN, HARCNN, MODELS, Linear
from terrafl.seeds import torch_stream

NETWORKS = [
    (CIFAR10CNN(), (3, 32, 32)),
    (CIFAR10CNN(variant="hics"), (3, 32, 32)),
    (CIFAR100CNN(), (3, 32, 32)),
    (FEMNISTCNN(), (1, 28, 28)),
    (HARCNN(), (9, 128)),
    (Linear(init="small-normal"), (1280,)),
]


def test_they_are_in_the_catalogue_under_their_names():
    names = ("cifar10-cnn", "cifar100-cnn", "femnist-cnn", "har-cnn")

    assert [MODELS[name] for name in names] == [CIFAR10CNN, CIFAR100CNN, FEMNISTCNN, HARCNN]


@pytest.mark.parametrize(
    ("model", "shape", "classes", "published", "by_hand"),
    [
        (
            CIFAR10CNN(),
            (3, 32, 32),
            10,
            122_570,
            (9 * 3 * 32 + 32)
            + (9 * 32 * 64 + 64)
            + (9 * 64 * 64 + 64)
            + (1024 * 64 + 64)
            + (64 * 10 + 10),
        ),
        (
            CIFAR100CNN(),
            (3, 32, 32),
            100,
            1_075_044,
            (25 * 3 * 64 + 64)
            + (25 * 64 * 128 + 128)
            + (3200 * 256 + 256)
            + (256 * 128 + 128)
            + (128 * 100 + 100),
        ),
        (
            FEMNISTCNN(),
            (1, 28, 28),
            62,
            1_690_046,
            (25 * 32 + 32) + (25 * 32 * 64 + 64) + (64 * 49 * 512 + 512) + (512 * 62 + 62),
        ),
        (
            HARCNN(),
            (9, 128),
            6,
            42_054,
            (9 * 9 * 32 + 32) + (9 * 32 * 64 + 64) + (64 * 5 * 64 + 64) + (64 * 6 + 6),
        ),
    ],
    ids=["cifar10", "cifar100", "femnist", "har"],
)
def test_parameters_are_as_many_as_published_and_counted(model, shape, classes, published, by_hand):
    network = model.build(shape, classes)

    count = sum(parameter.numel() for parameter in network.parameters())

    assert count == published == by_hand


def test_dropout_adds_no_parameters():
    plain, hics = (CIFAR10CNN(variant=v).build((3, 32, 32), 10) for v in ("plain", "hics"))

    assert [p.shape for p in hics.parameters()] == [p.shape for p in plain.parameters()]


@pytest.mark.parametrize(("model", "shape"), NETWORKS, ids=str)
def test_the_head_is_linear_and_gives_the_scores(model, shape):
    network = model.build(shape, 7)
    seen = []
    head = network.get_submodule(model.final_layer)
    head.register_forward_hook(lambda module, inputs, output: seen.append(output))

    scores = network(torch.rand(3, *shape, generator=torch.Generator().manual_seed(0)))

    assert isinstance(head, nn.Linear)
    assert scores.shape == (3, 7)
    assert seen[0] is scores


def test_the_third_convolution_of_the_cifar10_network_is_followed_by_no_relu():
    kinds = [type(module).__name__ for module in CIFAR10CNN().build((3, 32, 32), 10).children()]

    block = ["Conv2d", "MaxPool2d", "ReLU"]
    assert kinds == [*block, *block, "Conv2d", "Flatten", "Linear", "ReLU", "Linear"]


def test_the_hics_variant_of_the_cifar10_network_drops_out_after_each_block():
    layers = list(CIFAR10CNN(variant="hics").build((3, 32, 32), 10).children())

    kinds = [type(module).__name__ for module in layers]
    block = ["Conv2d", "MaxPool2d", "ReLU", "Dropout"]
    rest = ["Flatten", "Linear", "ReLU", "Linear"]
    assert kinds == [*block, *block, "Conv2d", "Dropout", *rest]
    assert {module.p for module in layers if isinstance(module, nn.Dropout)} == {0.2}


@pytest.mark.parametrize(
    ("name", "fan_in", "fan_out"),
    [("conv1", 9 * 3, 9 * 32), ("conv3", 9 * 64, 9 * 64), ("hidden", 1024, 64), ("head", 64, 10)],
)
def test_the_cifar10_network_starts_xavier_uniform_with_the_gain_of_relu(name, fan_in, fan_out):
    with torch_stream(0, "model"):
        layer = CIFAR10CNN().build((3, 32, 32), 10).get_submodule(name)

    bound = math.sqrt(2) * math.sqrt(6 / (fan_in + fan_out))
    assert 0.97 * bound < layer.weight.abs().max().item() <= bound


@pytest.mark.parametrize(
    ("model", "shape", "name", "fan_in"),
    [
        (CIFAR100CNN(), (3, 32, 32), "hidden1", 3200),
        (FEMNISTCNN(), (1, 28, 28), "hidden", 3136),
        (HARCNN(), (9, 128), "hidden", 320),
    ],
    ids=["cifar100", "femnist", "har"],
)
def test_the_others_start_as_torch_does(model, shape, name, fan_in):
    with torch_stream(0, "model"):
        layer = model.build(shape, 10).get_submodule(name)

    bound = 1 / math.sqrt(fan_in)
    assert 0.99 * bound < layer.weight.abs().max().item() <= bound


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (CIFAR10CNN(), (3, 18, 18)),
        (CIFAR100CNN(), (3, 16, 16)),
        (FEMNISTCNN(), (1, 4, 4)),
        (HARCNN(), (9, 56)),
    ],
    ids=["cifar10", "cifar100", "femnist", "har"],
)
def test_the_smallest_inputs_fit_and_smaller_ones_are_refused(model, shape):
    assert model.build(shape, 4)(torch.zeros(2, *shape)).shape == (2, 4)

    with pytest.raises(ConfigurationError, match=rf"{model.name} needs .* use model mlp or linear"):
        model.build((*shape[:-1], shape[-1] - 1), 4)


def test_inputs_of_other_dimensions_are_refused():
    with pytest.raises(ConfigurationError, match="har-cnn needs channels of at least 56 readings"):
        HARCNN().build((1, 28, 28), 10)
    with pytest.raises(ConfigurationError, match="cifar10-cnn needs images"):
        CIFAR10CNN().build((9, 128), 10)


def test_a_small_normal_head_starts_near_zero():
    with torch_stream(0, "model"):
        head = Linear(init="small-normal").build((1280,), 200).get_submodule("head")

    assert head.weight.std().item() == pytest.approx(0.01, rel=0.01)
    assert abs(head.weight.mean().item()) < 1e-4
    assert not head.bias.any()


def test_a_default_head_starts_as_torch_does():
    with torch_stream(0, "model"):
        head = Linear().build((100,), 10).get_submodule("head")

    with torch_stream(0, "model"):
        expected = nn.Linear(100, 10)
    assert torch.equal(head.weight, expected.weight)
    assert torch.equal(head.bias, expected.bias)
