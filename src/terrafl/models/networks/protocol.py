"""What a network architecture is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from terrafl.errors import ConfigurationError

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Model", "image_shape"]


@runtime_checkable
class Model(Protocol):
    """A network architecture."""

    name: ClassVar[str]
    final_layer: ClassVar[str]

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return a freshly initialised module; torch's global generator decides the weights."""
        ...


def image_shape(shape: tuple[int, ...], model: str, *, smallest: int) -> tuple[int, int, int]:
    """Return channels, height and width, or say what the network needs."""
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise ConfigurationError(
            f"{model} needs images of at least {smallest} x {smallest} pixels; "
            f"got inputs of shape {shape}: use model mlp or linear."
        )
    channels, height, width = shape
    return channels, height, width
