"""The network for windows of sensor readings."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from terrafl.errors import ConfigurationError

if TYPE_CHECKING:
    from torch import nn

__all__ = ["HARCNN"]

_SHORTEST = 56  # with fewer readings, nothing is left after both pooling layers


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

        if len(input_shape) != 2 or input_shape[1] < _SHORTEST:
            raise ConfigurationError(
                f"{self.name} needs channels of at least {_SHORTEST} readings; "
                f"got inputs of shape {input_shape}: use model mlp or linear."
            )
        channels, length = input_shape
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i, (inputs, outputs) in enumerate([(channels, 32), (32, 64)], start=1):
            layers[f"conv{i}"] = nn.Conv1d(inputs, outputs, kernel_size=9)
            layers[f"relu{i}"] = nn.ReLU()
            layers[f"pool{i}"] = nn.MaxPool1d(4)
            length = (length - 8) // 4
        layers["flatten"] = nn.Flatten()
        layers["hidden"] = nn.Linear(64 * length, 64)
        layers["relu3"] = nn.ReLU()
        layers["head"] = nn.Linear(64, num_outputs)
        return nn.Sequential(layers)
