"""A torch network whose parameters and buffers are views into one flat vector.

Receiving a model, sending one and averaging many are then single passes over contiguous memory,
which other processes can share.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from terrafl.errors import ConfigurationError
from terrafl.models.layout import Layout
from terrafl.models.networks import Model
from terrafl.seeds import torch_stream

__all__ = ["FlatNetwork"]


class FlatNetwork:
    """A network laid out in one vector.

    Parameters
    ----------
    module
        The network; its tensors are replaced by views into :attr:`vector`.
    final_layer
        Name of the linear layer that gives the class scores.
    device
        Where it lives, as torch names it.

    Attributes
    ----------
    module
        The network.
    layout
        Where each tensor lies.
    vector
        All parameters, then all floating-point buffers.
    parameters
        The trainable tensors, views into the vector.
    """

    def __init__(self, module: nn.Module, final_layer: str, device: str = "cpu") -> None:
        module = module.to(device)
        parameters = dict(module.named_parameters())
        buffers = {n: b for n, b in module.named_buffers() if b.is_floating_point()}
        head = dict(module.named_modules()).get(final_layer)
        if not isinstance(head, nn.Linear) or head.bias is None:
            raise ConfigurationError(
                f"the final layer must be a linear layer with a bias; {final_layer!r} is not."
            )
        self.module = module
        self.layout = Layout.of(
            [(n, tuple(p.shape)) for n, p in parameters.items()],
            [(n, tuple(b.shape)) for n, b in buffers.items()],
            final_layer,
        )
        self.vector = torch.empty(self.layout.size, dtype=torch.float32, device=device)
        tensors = {**parameters, **buffers}
        for entry in (*self.layout.parameters, *self.layout.buffers):
            view = self.vector[entry.place].view(entry.shape)
            view.copy_(tensors[entry.name].detach())
            tensors[entry.name].data = view
        self.parameters: list[nn.Parameter] = list(parameters.values())

    @classmethod
    def build(
        cls,
        model: Model,
        input_shape: tuple[int, ...],
        num_classes: int,
        *,
        seed: int,
        device: str = "cpu",
    ) -> FlatNetwork:
        """Build a network with the initial weights that belong to this seed."""
        with torch_stream(seed, "model"):
            module = model.build(input_shape, num_classes)
        return cls(module, model.final_layer, device)

    def load(self, vector: torch.Tensor) -> None:
        """Take these values."""
        self.vector.copy_(vector)

    def to_numpy(self) -> NDArray[np.float32]:
        """Return a copy of the vector."""
        return self.vector.to("cpu", copy=True).numpy()
