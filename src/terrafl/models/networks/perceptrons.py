"""Fully connected networks, with and without hidden layers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from terrafl.errors import require

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    r"""Multinomial logistic regression on the flattened input.

    Parameters
    ----------
    init
        ``default``: torch's default. ``small-normal``: weights from $N(0, 0.01^2)$ and biases 0,
        as HiCS-FL initialises the head of a frozen backbone.
    """

    name: ClassVar[str] = "linear"
    final_layer: ClassVar[str] = "head"

    init: Literal["default", "small-normal"] = "default"

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return a flatten layer and one linear layer."""
        from torch import nn

        network = MLP(hidden=()).build(input_shape, num_outputs)
        if self.init == "small-normal":
            for name, parameter in network.named_parameters():
                nn.init.normal_(parameter, std=0.01 if name == "head.weight" else 0.0)
        return network


@dataclass(frozen=True, slots=True, kw_only=True)
class MLP:
    """A multi-layer perceptron with ReLU on the flattened input.

    Parameters
    ----------
    hidden
        Number of units of each hidden layer.
    """

    name: ClassVar[str] = "mlp"
    final_layer: ClassVar[str] = "head"

    hidden: tuple[int, ...] = (200, 200)

    def __post_init__(self) -> None:
        require(all(units >= 1 for units in self.hidden), "hidden", self.hidden, "1 or more units")

    def build(self, input_shape: tuple[int, ...], num_outputs: int) -> nn.Module:
        """Return a flatten layer, the hidden layers and the head."""
        hidden = {f"hidden{i}": units for i, units in enumerate(self.hidden, start=1)}
        return with_head({}, input_shape, hidden, num_outputs)


def with_head(
    layers: Mapping[str, nn.Module],
    input_shape: tuple[int, ...],
    hidden: Mapping[str, int],
    num_outputs: int,
) -> nn.Sequential:
    """Return a network of these layers, a flatten layer, hidden layers with ReLU and the head.

    Parameters
    ----------
    layers
        The first layers, by name.
    input_shape
        Shape of one input.
    hidden
        Number of units of each hidden layer, by name.
    num_outputs
        Number of outputs of the head.
    """
    import torch
    from torch import nn

    body = OrderedDict(layers, flatten=nn.Flatten())
    with torch.no_grad():  # in evaluation mode, so that dropout draws no random numbers
        width = nn.Sequential(body).eval()(torch.zeros(1, *input_shape)).shape[1]
    for name, units in hidden.items():
        body |= {name: nn.Linear(width, units), f"relu_{name}": nn.ReLU()}
        width = units
    return nn.Sequential(body | {"head": nn.Linear(width, num_outputs)}).train()
