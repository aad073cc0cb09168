"""The interface of a network architecture."""

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

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return a new module; its initial weights come from torch's global generator."""
        ...


def image_shape(shape: tuple[int, ...], model: str, *, smallest: int) -> tuple[int, int, int]:
    """Return channels, height and width; raise if the network cannot use this shape."""
    if len(shape) != 3 or min(shape[1:]) < smallest:
        raise ConfigurationError(
            f"{model} needs images of at least {smallest} x {smallest} pixels; "
            f"got inputs of shape {shape}: use model mlp or linear."
        )
    channels, height, width = shape
    return channels, height, width
