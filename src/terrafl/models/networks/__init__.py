"""The networks: settings objects that build a torch module.

The final layer of each is ``head``. torch is imported only when a network is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from terrafl.models.networks.convolutional import (
    CIFAR10CNN,
    CIFAR100CNN,
    FEMNISTCNN,
    FMNISTCNN,
    HARCNN,
)
from terrafl.models.networks.perceptrons import MLP, Linear

if TYPE_CHECKING:
    from torch import nn

__all__ = ["MODELS", "Model"]


@runtime_checkable
class Model(Protocol):
    """A network architecture."""

    name: ClassVar[str]
    final_layer: ClassVar[str]

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return a new module; its initial weights come from torch's global generator."""
        ...


MODELS: dict[str, type[Model]] = {
    cls.name: cls for cls in (Linear, MLP, FMNISTCNN, CIFAR10CNN, CIFAR100CNN, FEMNISTCNN, HARCNN)
}
"""Networks by name, for configuration files and the command line."""
