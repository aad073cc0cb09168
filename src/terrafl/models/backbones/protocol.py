"""The backbone interface: a frozen, pretrained network that turns images into features."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import nn

    from terrafl.models.backbones.weights import WeightsFile

__all__ = ["Backbone", "InputNormalisation"]


class InputNormalisation(NamedTuple):
    r"""The expected input: $(x - mean_c) / sd_c$ per channel $c$, for pixels in [0, 1]."""

    mean: tuple[float, float, float]
    sd: tuple[float, float, float]


@runtime_checkable
class Backbone(Protocol):
    """A pretrained network.

    A frozen dataclass whose constructor arguments are its settings, like a model.
    """

    name: ClassVar[str]
    num_features: ClassVar[int]
    input_normalisation: ClassVar[InputNormalisation]
    weights: ClassVar[WeightsFile]

    @property
    def input_size(self) -> int:
        """Height and width in pixels to which images are resized."""
        ...

    def build(self) -> nn.Module:
        """Return the network, which has the tensors of the weights file and outputs features."""
        ...
