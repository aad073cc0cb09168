"""A network in one vector: the vector is the network, not a copy of it."""

import numpy as np
import pytest
import torch
from torch import nn

from terrafl.errors import ConfigurationError
from terrafl.models import CIFAR10CNN, FMNISTCNN, MLP, Layout, Linear
from terrafl.models.flat import FlatNetwork

IMAGES = torch.rand(6, 1, 28, 28, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def mlp():
    return FlatNetwork.build(MLP(hidden=(4,)), (1, 3, 3), 5, seed=0)


@pytest.fixture
def with_norm():
    return FlatNetwork.build(FMNISTCNN(variant="hics"), (1, 28, 28), 10, seed=0)


def test_a_vector_taken_changes_the_network(mlp):
    vector = torch.zeros(mlp.layout.size)
    vector[mlp.layout.final_bias] = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])

    mlp.load(vector)

    assert mlp.module(torch.ones(1, 1, 3, 3)).tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0]]


def test_a_change_of_the_network_changes_the_vector(mlp):
    with torch.no_grad():
        mlp.module.get_submodule("head").bias.copy_(torch.arange(5.0))

    assert mlp.to_numpy()[mlp.layout.final_bias].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_filters_lie_channels_last_but_travel_in_the_ordinary_order():
    network = FlatNetwork.build(CIFAR10CNN(), (3, 32, 32), 10, seed=0)
    vector = torch.arange(network.layout.size, dtype=torch.float32)

    network.load(vector)

    filters = network.module.get_submodule("conv2").weight
    place = next(e.place for e in network.layout.parameters if e.name == "conv2.weight")
    assert filters.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(filters, vector[place].view(filters.shape))
    assert np.array_equal(network.to_numpy(), vector.numpy())


def test_a_step_of_an_optimiser_moves_the_vector(mlp):
    before = mlp.to_numpy()
    mlp.module(torch.ones(2, 1, 3, 3)).sum().backward()
    expected = before - 0.5 * np.concatenate([p.grad.numpy().ravel() for p in mlp.parameters])

    torch.optim.SGD(mlp.parameters, lr=0.5).step()

    assert np.array_equal(mlp.to_numpy(), expected)


def test_the_statistics_of_batch_norms_lie_behind_the_parameters(with_norm):
    layout = with_norm.layout

    assert [entry.name for entry in layout.buffers] == [
        "norm1.running_mean",
        "norm1.running_var",
        "norm2.running_mean",
        "norm2.running_var",
    ]
    assert layout.size - layout.num_parameters == 4 * 32
    assert layout.buffers[0].place.start == layout.num_parameters


def test_training_moves_the_statistics_in_the_vector(with_norm):
    tail = slice(with_norm.layout.num_parameters, None)
    parameters, before = with_norm.to_numpy()[: tail.start], with_norm.to_numpy()[tail]

    with_norm.module.train()
    with_norm.module(IMAGES)

    assert np.array_equal(with_norm.to_numpy()[: tail.start], parameters)
    assert (with_norm.to_numpy()[tail] != before).all()


def test_a_network_that_takes_the_vector_of_another_computes_the_same(with_norm):
    other = FlatNetwork.build(FMNISTCNN(variant="hics"), (1, 28, 28), 10, seed=1)
    with_norm.module.train()
    with_norm.module(IMAGES)

    other.load(torch.from_numpy(with_norm.to_numpy()))

    for network in (with_norm, other):
        network.module.eval()
    assert torch.equal(other.module(IMAGES), with_norm.module(IMAGES))


def test_a_copy_of_the_vector_stays_behind(mlp):
    copy = mlp.to_numpy()

    mlp.load(torch.zeros(mlp.layout.size))

    assert copy.any()


@pytest.mark.parametrize("model", [Linear(), MLP(), FMNISTCNN()], ids=str)
def test_one_seed_gives_one_network(model):
    first, second = (FlatNetwork.build(model, (1, 28, 28), 10, seed=3) for _ in range(2))

    assert first.to_numpy().tobytes() == second.to_numpy().tobytes()


@pytest.mark.parametrize("model", [Linear(), MLP(), FMNISTCNN()], ids=str)
def test_two_seeds_give_two_networks(model):
    one, other = (FlatNetwork.build(model, (1, 28, 28), 10, seed=s).to_numpy() for s in (3, 4))

    assert (one != other).mean() > 0.9


def test_building_a_network_leaves_the_generator_of_torch_alone():
    before = torch.get_rng_state()

    FlatNetwork.build(MLP(), (1, 8, 8), 10, seed=3)

    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Flatten()),
        nn.Sequential(nn.Linear(4, 2, bias=False)),
        nn.Sequential(nn.Conv2d(1, 1, 1)),
    ],
    ids=["flatten", "no bias", "convolution"],
)
def test_a_final_layer_must_be_linear_with_a_bias(module):
    with pytest.raises(ConfigurationError, match="must be a linear layer with a bias; '0' is not"):
        FlatNetwork(module, "0")


def test_a_layout_gives_every_tensor_its_place():
    layout = Layout.of(
        [("hidden.weight", (2, 3)), ("head.weight", (4, 2)), ("head.bias", (4,))],
        [("norm.running_mean", (2,))],
        "head",
    )

    vector = np.arange(20, dtype=np.float32)
    tensors = layout.tensors(vector)

    assert (layout.num_parameters, layout.size) == (18, 20)
    assert (layout.final_weight, layout.final_bias) == (slice(6, 14), slice(14, 18))
    assert tensors["hidden.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensors["head.bias"].tolist() == [14, 15, 16, 17]
    assert tensors["norm.running_mean"].tolist() == [18, 19]
    assert all(np.shares_memory(tensor, vector) for tensor in tensors.values())
