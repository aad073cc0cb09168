"""EfficientNet-Lite0, its tensors named as the published PyTorch weights name them.

References
----------
Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", ICML 2019,
table 1; of the Lite variant, the shapes of its published weights.
"""

import math

from torch import Tensor, nn
from torch.nn import functional

# Blocks, kernel, stride of the first block, expansion, output channels.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class SameConv2d(nn.Conv2d):
    r"""A convolution padded as TensorFlow's "same", where the weights were trained.

    The output has $o = \lceil i / s \rceil$ pixels a side for a stride of $s$; of the
    $p = \max(0, (o - 1) s + k - i)$ zeros, the odd one is below and to the right, which no
    symmetric padding can do.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of the padded input."""
        stride, kernel = self.stride[0], self.kernel_size[0]
        padding: list[int] = []
        for side in (input.shape[3], input.shape[2]):  # torch pads the last dimension first
            total = max(0, (math.ceil(side / stride) - 1) * stride + kernel - side)
            padding += [total // 2, total - total // 2]
        return super().forward(functional.pad(input, padding))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)  # TensorFlow's, not torch's 1e-5


class InvertedResidual(nn.Module):
    """Widen, convolve each channel by itself, narrow; the input is added where shapes allow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        width = inputs * expansion
        self._residual = stride == 1 and inputs == outputs
        if expansion != 1:
            self._expand_conv = nn.Conv2d(inputs, width, 1, bias=False)
            self._bn0 = _norm(width)
        self._depthwise_conv = SameConv2d(width, width, kernel, stride, groups=width, bias=False)
        self._bn1 = _norm(width)
        self._project_conv = nn.Conv2d(width, outputs, 1, bias=False)
        self._bn2 = _norm(outputs)
        self._expands = expansion != 1

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, linear at its narrow end."""
        inner = functional.relu6(self._bn0(self._expand_conv(x))) if self._expands else x
        inner = functional.relu6(self._bn1(self._depthwise_conv(inner)))
        narrow: Tensor = self._bn2(self._project_conv(inner))
        return narrow + x if self._residual else narrow


class EfficientNetLite0(nn.Module):
    """The smallest Lite network, up to its 1280 features.

    The classifier ``_fc`` of ImageNet's 1000 classes is loaded, but the features do not use it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = SameConv2d(3, 32, 3, stride=2, bias=False)
        self._bn0 = _norm(32)
        blocks, inputs = [], 32
        for count, kernel, first_stride, expansion, outputs in _STAGES:
            for stride in (first_stride, *[1] * (count - 1)):
                blocks.append(InvertedResidual(inputs, outputs, kernel, stride, expansion))
                inputs = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = nn.Conv2d(inputs, 1280, 1, bias=False)
        self._bn1 = _norm(1280)
        self._fc = nn.Linear(1280, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features (n, 1280) of images (n, 3, height, width)."""
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return functional.relu6(self._bn1(self._conv_head(x))).mean(dim=(2, 3))
