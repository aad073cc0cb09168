"""The interface of a network architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Model"]


@runtime_checkable
class Model(Protocol):
    """A network architecture."""

    name: ClassVar[str]
    final_layer: ClassVar[str]

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Return a new module; its initial weights come from torch's global generator."""
        ...
