"""A torch network whose parameters and buffers are stored in one flat vector.

So models are averaged in one pass over contiguous memory, which processes can share.
"""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from terrafl.errors import ConfigurationError
from terrafl.models.layout import Layout
from terrafl.models.networks import Model
from terrafl.seeds import torch_stream


class FlatNetwork:
    """A network that is stored in one vector.

    Parameters
    ----------
    module
        The network. Its tensors are replaced by views of one block of memory.
    final_layer
        Name of the linear layer that computes the outputs.
    device
        The torch device.

    Attributes
    ----------
    module
        The network.
    layout
        The position of each tensor.
    parameters
        The trainable tensors.

    Notes
    -----
    Filters are stored in the channels-last format, in which convolutions run up to twice as fast
    on CPUs. Vectors that are loaded or returned have every tensor in torch's default order.
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
        num_outputs: int,
        *,
        seed: int,
        device: str = "cpu",
    ) -> "FlatNetwork":
        """Build a network with the initial weights of this seed."""
        with torch_stream(seed, "model"):
            module = model.build(input_shape, num_outputs)
        return cls(module, model.final_layer, device)

    def frozen_copy(self) -> "FlatNetwork":
        """Return an equal network with its own memory, which is not trained."""
        module = copy.deepcopy(self.module).requires_grad_(False).eval()
        return FlatNetwork(module, self.layout.final_layer, str(self._memory.device))

    def outputs_and_features(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the outputs for a mini-batch, and the final layer's input."""
        seen: list[torch.Tensor] = []
        head = self.module.get_submodule(self.layout.final_layer)
        handle = head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        try:
            return self.module(x), seen[-1]
        finally:
            handle.remove()

    def load(self, vector: torch.Tensor) -> None:
        """Set all values from a vector."""
        self._memory.copy_(vector)
        for place, filters in self._filters:
            filters.copy_(vector[place].view(filters.shape))

    def parts(self, vector: NDArray[np.float32]) -> list[torch.Tensor]:
        """Return another vector's part of each trainable tensor, on this network's device."""
        whole = torch.from_numpy(vector).to(self._memory.device)
        return [whole[entry.place].view(entry.shape) for entry in self.layout.parameters]

    def to_numpy(self) -> NDArray[np.float32]:
        """Return a copy of all values."""
        vector = self._memory.to("cpu", copy=True)
        for place, filters in self._filters:
            vector[place].view(filters.shape).copy_(filters)
        return vector.numpy()
