"""Pretrained networks that turn images into features; only a head on top is trained."""

from terrafl.models.backbones.catalog import (
    BACKBONES,
    EfficientNetLite0Backbone,
    ResNet18Backbone,
)
from terrafl.models.backbones.protocol import Backbone, InputNormalisation
from terrafl.models.backbones.weights import WeightsFile

__all__ = [
    "BACKBONES",
    "Backbone",
    "EfficientNetLite0Backbone",
    "InputNormalisation",
    "ResNet18Backbone",
    "WeightsFile",
]
