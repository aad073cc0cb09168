"""The networks, the frozen backbones, and the memory layout of a model."""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.models.backbones.catalog import BACKBONES as BACKBONES
    from terrafl.models.backbones.catalog import Backbone as Backbone
    from terrafl.models.layout import Layout as Layout
    from terrafl.models.networks import MODELS as MODELS
    from terrafl.models.networks.har import HARCNN as HARCNN
    from terrafl.models.networks.images import CIFAR10CNN as CIFAR10CNN
    from terrafl.models.networks.images import CIFAR100CNN as CIFAR100CNN
    from terrafl.models.networks.images import FEMNISTCNN as FEMNISTCNN
    from terrafl.models.networks.images import FMNISTCNN as FMNISTCNN
    from terrafl.models.networks.perceptrons import MLP as MLP
    from terrafl.models.networks.perceptrons import Linear as Linear
    from terrafl.models.networks.protocol import Model as Model

__getattr__, __dir__ = lazily(__name__, __file__)
