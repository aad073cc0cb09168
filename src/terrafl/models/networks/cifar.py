"""The networks for CIFAR-10 and CIFAR-100."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from terrafl.models.networks.protocol import image_shape
from terrafl.models.networks.xavier import xavier

if TYPE_CHECKING:
    from torch import nn

__all__ = ["CIFAR10CNN", "CIFAR100CNN"]


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

        channels, height, width = image_shape(input_shape, self.name, smallest=18)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (inputs, outputs) in enumerate([(channels, 32), (32, 64), (64, 64)], start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=3)
            height, width = height - 2, width - 2
            if i < 3:
                layers[f"pool{i}"] = nn.MaxPool2d(2)  # before ReLU: same result, faster
                layers[f"relu{i}"] = nn.ReLU()
                height, width = height // 2, width // 2
            if self.variant == "hics":
                layers[f"dropout{i}"] = nn.Dropout(0.2)
        layers["flatten"] = nn.Flatten()
        layers["hidden"] = nn.Linear(64 * height * width, 64)
        layers["relu3"] = nn.ReLU()
        layers["head"] = nn.Linear(64, num_outputs)
        network = nn.Sequential(layers)
        xavier(network)
        return network


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
        from torch import nn

        channels, height, width = image_shape(input_shape, self.name, smallest=16)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (inputs, outputs) in enumerate([(channels, 64), (64, 128)], start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=5)
            layers[f"pool{i}"] = nn.MaxPool2d(2)  # before ReLU: same result, faster
            layers[f"relu{i}"] = nn.ReLU()
            height, width = (height - 4) // 2, (width - 4) // 2
        layers["flatten"] = nn.Flatten()
        layers["hidden1"] = nn.Linear(128 * height * width, 256)
        layers["relu3"] = nn.ReLU()
        layers["hidden2"] = nn.Linear(256, 128)
        layers["relu4"] = nn.ReLU()
        layers["head"] = nn.Linear(128, num_outputs)
        return nn.Sequential(layers)
