"""A torch network whose parameters and buffers come from and go to one flat vector.

Averaging models is then a pass over contiguous memory, which processes can share.
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
        The network; its tensors are replaced by views into one piece of memory.
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
    parameters
        The trainable tensors.

    Notes
    -----
    Filters lie in memory channels last, where convolutions on processors run up to twice as
    fast; vectors that come and go have every tensor in torch's ordinary order.
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
        self._memory = torch.empty(self.layout.size, dtype=torch.float32, device=device)
        self._filters: list[tuple[slice, torch.Tensor]] = []
        tensors = {**parameters, **buffers}
        for entry in (*self.layout.parameters, *self.layout.buffers):
            view = self._memory[entry.place]
            if len(entry.shape) == 4:
                outputs, inputs, height, width = entry.shape
                view = view.view(outputs, height, width, inputs).permute(0, 3, 1, 2)
                self._filters.append((entry.place, view))
            else:
                view = view.view(entry.shape)
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
        self._memory.copy_(vector)
        for place, filters in self._filters:
            filters.copy_(vector[place].view(filters.shape))

    def to_numpy(self) -> NDArray[np.float32]:
        """Return a copy of the values."""
        vector = self._memory.to("cpu", copy=True)
        for place, filters in self._filters:
            vector[place].view(filters.shape).copy_(filters)
        return vector.numpy()
