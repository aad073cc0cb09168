"""A network with a batch norm, whose statistics are buffers."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from torch import nn


@dataclass(frozen=True, kw_only=True)
class Normed:
    name: ClassVar[str] = "normed"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape, num_outputs):
        return nn.Sequential(
            OrderedDict(
                flatten=nn.Flatten(),
                hidden=nn.Linear(64, 8),
                norm=nn.BatchNorm1d(8),
                head=nn.Linear(8, num_outputs),
            )
        )
