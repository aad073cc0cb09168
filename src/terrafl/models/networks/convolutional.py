"""The convolutional networks: for images, and for the readings of sensors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from terrafl.errors import ConfigurationError
from terrafl.models.networks.perceptrons import with_head

if TYPE_CHECKING:
    from torch import nn

_IMAGES = "images of at least {0} x {0} pixels"
_READINGS = "channels of at least {0} readings"


@dataclass(frozen=True, slots=True, kw_only=True)
class FMNISTCNN:
    """The HiCS-FL paper's network for Fashion-MNIST: two 5x5 convolutions and one linear layer.

    Parameters
    ----------
    variant
        ``plain``: ReLU, no batch norm, no dropout; the paper mentions none. ``hics``: PReLU,
        batch norm and dropout 0.2, as in the released code of HiCS-FL.

    References
    ----------
    Chen and Vikalo, "Heterogeneity-Guided Client Sampling: Towards Fast and Efficient Non-IID
    Federated Learning", NeurIPS 2024, appendix A.1.
    """

    name: ClassVar[str] = "fmnist-cnn"
    final_layer: ClassVar[str] = "head"

    variant: Literal["plain", "hics"] = "plain"

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return the network with Xavier-uniform initial weights and the gain of ReLU."""
        from torch import nn

        _require_shape(input_shape, self.name, _IMAGES, smallest=16)
        hics = self.variant == "hics"
        layers: dict[str, nn.Module] = {}
        for i, inputs in enumerate((input_shape[0], 32), start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, 32, kernel_size=5)
            layers[f"relu{i}"] = nn.PReLU() if hics else nn.ReLU()
            if hics:
                layers[f"norm{i}"] = nn.BatchNorm2d(32)
            layers[f"pool{i}"] = nn.MaxPool2d(2)
        if hics:
            layers["dropout"] = nn.Dropout(0.2)
        return _xavier(with_head(layers, input_shape, {}, num_outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class CIFAR10CNN:
    """HiCS-FL's network for CIFAR-10: three 3x3 convolutions and a linear layer of 64 units.

    122,570 parameters at 3 x 32 x 32 and 10 classes.

    Parameters
    ----------
    variant
        ``plain``: no dropout; the paper mentions none. ``hics``: dropout 0.2 after each
        convolution block, as in the released code of HiCS-FL.

    Notes
    -----
    There is no ReLU between the third convolution and the linear layer, as in the released code.

    References
    ----------
    Chen and Vikalo, "Heterogeneity-Guided Client Sampling: Towards Fast and Efficient Non-IID
    Federated Learning", NeurIPS 2024, and the authors' code.
    """

    name: ClassVar[str] = "cifar10-cnn"
    final_layer: ClassVar[str] = "head"

    variant: Literal["plain", "hics"] = "plain"

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return the network with Xavier-uniform initial weights and the gain of ReLU."""
        from torch import nn

        _require_shape(input_shape, self.name, _IMAGES, smallest=18)
        layers: dict[str, nn.Module] = {}
        for i, (inputs, outputs) in enumerate(pairwise((input_shape[0], 32, 64, 64)), start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=3)
            if i < 3:
                layers[f"pool{i}"] = nn.MaxPool2d(2)  # before ReLU: same result, faster
                layers[f"relu{i}"] = nn.ReLU()
            if self.variant == "hics":
                layers[f"dropout{i}"] = nn.Dropout(0.2)
        return _xavier(with_head(layers, input_shape, {"hidden": 64}, num_outputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class CIFAR100CNN:
    """The five-layer network for CIFAR-100: two 5x5 convolutions, layers of 256 and 128.

    1,075,044 parameters at 3 x 32 x 32 and 100 classes.

    Notes
    -----
    The Terraform paper refers to FLUTE's network and lists "3200" among its widths, which is the
    length of the flattened output of the convolutions. FLUTE's dropout is left out, because the
    paper mentions none.

    References
    ----------
    Liu et al., "Federated Representation Learning in the Under-Parameterized Regime" (FLUTE),
    ICML 2024, and the authors' code.
    """

    name: ClassVar[str] = "cifar100-cnn"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return the network with torch's default initial weights."""
        _require_shape(input_shape, self.name, _IMAGES, smallest=16)
        layers = _convolutions(input_shape[0], (64, 128))
        return with_head(layers, input_shape, {"hidden1": 256, "hidden2": 128}, num_outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class FEMNISTCNN:
    """FedAvg's network for handwritten characters: two 5x5 convolutions and 512 units.

    The convolutions keep the size of the image. It has 1,663,370 parameters at 28 x 28 pixels and
    10 classes, the number that McMahan et al. give, and 1,690,046 with 62 classes.

    References
    ----------
    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
    AISTATS 2017, section 3.
    """

    name: ClassVar[str] = "femnist-cnn"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return the network with torch's default initial weights."""
        _require_shape(input_shape, self.name, _IMAGES, smallest=4)
        layers = _convolutions(input_shape[0], (32, 64), padding=2)
        return with_head(layers, input_shape, {"hidden": 512}, num_outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class HARCNN:
    """A small network for time series: two convolutions of 9 readings and 64 hidden units.

    42,054 parameters at 9 channels of 128 readings and 6 classes.

    Notes
    -----
    This network is ours; the Terraform paper has no data of this kind. Like the paper's networks it
    has two convolutions, pooling and one hidden layer. 9 readings are 0.18 s. Pooling by 4 lets
    the second convolution see about 0.9 s, which is one or two steps of a person. Wider and deeper
    networks were slower and not better on the pooled data of UCI HAR (95 to 96 %).
    """

    name: ClassVar[str] = "har-cnn"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return the network with torch's default initial weights."""
        from torch import nn

        _require_shape(input_shape, self.name, _READINGS, smallest=56)
        layers: dict[str, nn.Module] = {}
        for i, (inputs, outputs) in enumerate(pairwise((input_shape[0], 32, 64)), start=1):
            layers[f"conv{i}"] = nn.Conv1d(inputs, outputs, kernel_size=9)
            layers[f"relu{i}"] = nn.ReLU()
            layers[f"pool{i}"] = nn.MaxPool1d(4)
        return with_head(layers, input_shape, {"hidden": 64}, num_outputs)


def _require_shape(shape: tuple[int, ...], model: str, needs: str, smallest: int) -> None:
    """Raise unless inputs are of the needed kind and something is left of them after pooling."""
    sides = {_IMAGES: 2, _READINGS: 1}[needs]
    if len(shape) != 1 + sides or min(shape[1:]) < smallest:
        raise ConfigurationError(
            f"{model} needs {needs.format(smallest)}; got inputs of shape {shape}: "
            "use model mlp or linear."
        )


def _convolutions(channels: int, widths: tuple[int, ...], padding: int = 0) -> dict[str, nn.Module]:
    """Return 5x5 convolutions with pooling and ReLU."""
    from torch import nn

    layers: dict[str, nn.Module] = {}
    for i, (inputs, outputs) in enumerate(pairwise((channels, *widths)), start=1):
        layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=5, padding=padding)
        layers[f"pool{i}"] = nn.MaxPool2d(2)  # before ReLU: same result, faster
        layers[f"relu{i}"] = nn.ReLU()
    return layers


def _xavier(network: nn.Module) -> nn.Module:
    """Initialise convolution and linear weights Xavier-uniform with the gain of ReLU."""
    from torch import nn

    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
    return network
