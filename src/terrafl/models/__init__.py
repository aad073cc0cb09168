"""The networks, the frozen backbones, and the memory layout of a model."""

from terrafl.models.backbones import BACKBONES, Backbone
from terrafl.models.layout import Layout
from terrafl.models.networks import (
    CIFAR10CNN,
    CIFAR100CNN,
    FEMNISTCNN,
    FMNISTCNN,
    HARCNN,
    MLP,
    MODELS,
    Linear,
    Model,
)

__all__ = [
    "BACKBONES",
    "CIFAR10CNN",
    "CIFAR100CNN",
    "FEMNISTCNN",
    "FMNISTCNN",
    "HARCNN",
    "MLP",
    "MODELS",
    "Backbone",
    "Layout",
    "Linear",
    "Model",
]
