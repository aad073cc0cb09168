"""The networks, the frozen backbones, and the memory layout of a model."""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.models.backbones.catalog import BACKBONES as BACKBONES
    from terrafl.models.backbones.catalog import Backbone as Backbone
    from terrafl.models.layout import Layout as Layout
    from terrafl.models.networks import MODELS as MODELS
    from terrafl.models.networks import Model as Model
    from terrafl.models.networks.convolutional import CIFAR10CNN as CIFAR10CNN
    from terrafl.models.networks.convolutional import CIFAR100CNN as CIFAR100CNN
    from terrafl.models.networks.convolutional import FEMNISTCNN as FEMNISTCNN
    from terrafl.models.networks.convolutional import FMNISTCNN as FMNISTCNN
    from terrafl.models.networks.convolutional import HARCNN as HARCNN
    from terrafl.models.networks.perceptrons import MLP as MLP
    from terrafl.models.networks.perceptrons import Linear as Linear

__getattr__, __dir__ = lazily(__name__, __file__)
