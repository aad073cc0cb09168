"""The initial weights of HiCS-FL's networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

__all__ = ["xavier"]


def xavier(network: nn.Module) -> None:
    """Initialise convolution and linear weights Xavier-uniform with the gain of ReLU."""
    from torch import nn

    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("relu"))
