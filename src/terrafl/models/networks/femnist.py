"""The network for handwritten characters."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from terrafl.models.networks.protocol import image_shape

if TYPE_CHECKING:
    from torch import nn

__all__ = ["FEMNISTCNN"]


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
        from torch import nn

        channels, height, width = image_shape(input_shape, self.name, smallest=4)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (inputs, outputs) in enumerate([(channels, 32), (32, 64)], start=1):
            layers[f"conv{i}"] = nn.Conv2d(inputs, outputs, kernel_size=5, padding=2)
            layers[f"pool{i}"] = nn.MaxPool2d(2)  # before ReLU: same result, faster
            layers[f"relu{i}"] = nn.ReLU()
            height, width = height // 2, width // 2
        layers["flatten"] = nn.Flatten()
        layers["hidden"] = nn.Linear(64 * height * width, 512)
        layers["relu3"] = nn.ReLU()
        layers["head"] = nn.Linear(512, num_outputs)
        return nn.Sequential(layers)
