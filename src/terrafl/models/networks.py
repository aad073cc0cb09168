"""The networks, as settings that build a torch module.

Each names its final layer ``head``. torch is imported when a network is built, not before.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, runtime_checkable

from terrafl.errors import ConfigurationError, require

if TYPE_CHECKING:
    from torch import nn

__all__ = ["FEMNISTCNN", "FMNISTCNN", "MLP", "MODELS", "Linear", "Model"]


@runtime_checkable
class Model(Protocol):
    """A network architecture."""

    name: ClassVar[str]
    final_layer: ClassVar[str]

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return a freshly initialised module; torch's global generator decides the weights."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Multinomial logistic regression on the flattened input."""

    name: ClassVar[str] = "linear"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return flatten and one linear layer."""
        return MLP(hidden=()).build(input_shape, num_classes)


@dataclass(frozen=True, slots=True, kw_only=True)
class MLP:
    """A multi-layer perceptron with ReLU on the flattened input.

    Parameters
    ----------
    hidden
        Units of each hidden layer.
    """

    name: ClassVar[str] = "mlp"
    final_layer: ClassVar[str] = "head"

    hidden: tuple[int, ...] = (200, 200)

    def __post_init__(self) -> None:
        require(all(units >= 1 for units in self.hidden), "hidden", self.hidden, "1 or more units")

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return flatten, hidden layers and head."""
        from torch import nn

        layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
        width = math.prod(input_shape)
        for i, units in enumerate(self.hidden, start=1):
            layers[f"hidden{i}"] = nn.Linear(width, units)
            layers[f"relu{i}"] = nn.ReLU()
            width = units
        layers["head"] = nn.Linear(width, num_classes)
        return nn.Sequential(layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class FMNISTCNN:
    """The HiCS-FL paper's network for Fashion-MNIST: two 5x5 convolutions and one linear layer.

    Parameters
    ----------
    variant
        ``plain``: ReLU, no batch norm, no dropout, since the paper names none. ``hics``: PReLU,
        batch norm and dropout 0.2, as in the released code of HiCS-FL.

    References
    ----------
    Chen and Vikalo, "Heterogeneity-Guided Client Sampling: Towards Fast and Efficient Non-IID
    Federated Learning", NeurIPS 2024, appendix A.1.
    """

    name: ClassVar[str] = "fmnist-cnn"
    final_layer: ClassVar[str] = "head"

    variant: Literal["plain", "hics"] = "plain"

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return the convolutional network, Xavier-uniform with the gain of ReLU."""
        from torch import nn

        channels, height, width = _image_shape(input_shape, self.name, smallest=16)
        hics = self.variant == "hics"
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (inputs, outputs) in enumerate([(channels, 32), (32, 32)], start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=5)
            layers[f"relu{i}"] = nn.PReLU() if hics else nn.ReLU()
            if hics:
                layers[f"norm{i}"] = nn.BatchNorm2d(outputs)
            layers[f"pool{i}"] = nn.MaxPool2d(2)
            height, width = (height - 4) // 2, (width - 4) // 2
        if hics:
            layers["dropout"] = nn.Dropout(0.2)
        layers["flatten"] = nn.Flatten()
        layers["head"] = nn.Linear(32 * height * width, num_classes)
        network = nn.Sequential(layers)
        xavier(network)
        return network


@dataclass(frozen=True, slots=True, kw_only=True)
class FEMNISTCNN:
    """FedAvg's network for handwritten characters: two 5x5 convolutions and a layer of 512.

    Convolutions keep the image's size; 1,663,370 parameters at 28 x 28 and 10 classes, as
    McMahan et al. count them, and 1,690,046 at 62.

    References
    ----------
    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
    AISTATS 2017, section 3.
    """

    name: ClassVar[str] = "femnist-cnn"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return the convolutional network, initialised as torch does."""
        from torch import nn

        channels, height, width = _image_shape(input_shape, self.name, smallest=4)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (inputs, outputs) in enumerate([(channels, 32), (32, 64)], start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=5, padding=2)
            layers[f"relu{i}"] = nn.ReLU()
            layers[f"pool{i}"] = nn.MaxPool2d(2)
            height, width = height // 2, width // 2
        layers["flatten"] = nn.Flatten()
        layers["hidden"] = nn.Linear(64 * height * width, 512)
        layers["relu3"] = nn.ReLU()
        layers["head"] = nn.Linear(512, num_classes)
        return nn.Sequential(layers)


def _image_shape(shape: tuple[int, ...], model: str, *, smallest: int) -> tuple[int, int, int]:
    """Return channels, height and width, or say what the network needs."""
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise ConfigurationError(
            f"{model} needs images of at least {smallest} x {smallest} pixels; "
            f"got inputs of shape {shape}: use model mlp or linear."
        )
    channels, height, width = shape
    return channels, height, width


def xavier(network: nn.Module) -> None:
    """Initialise convolution and linear weights Xavier-uniform with the gain of ReLU."""
    from torch import nn

    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))


MODELS: dict[str, type[Model]] = {cls.name: cls for cls in (Linear, MLP, FMNISTCNN, FEMNISTCNN)}
