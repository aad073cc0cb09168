"""The network for Fashion-MNIST."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from terrafl.models.networks.protocol import image_shape
from terrafl.models.networks.xavier import xavier

if TYPE_CHECKING:
    from torch import nn

__all__ = ["FMNISTCNN"]


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

        channels, height, width = image_shape(input_shape, self.name, smallest=16)
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
        layers["head"] = nn.Linear(32 * height * width, num_outputs)
        network = nn.Sequential(layers)
        xavier(network)
        return network
