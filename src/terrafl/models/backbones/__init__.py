"""Pretrained networks that turn images into features; only a head on top is trained."""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.models.backbones.catalog import BACKBONES as BACKBONES
    from terrafl.models.backbones.catalog import Backbone as Backbone
    from terrafl.models.backbones.catalog import (
        EfficientNetLite0Backbone as EfficientNetLite0Backbone,
    )
    from terrafl.models.backbones.catalog import InputNormalisation as InputNormalisation
    from terrafl.models.backbones.catalog import ResNet18Backbone as ResNet18Backbone
    from terrafl.models.backbones.weights import WeightsFile as WeightsFile

__getattr__, __dir__ = lazily(__name__, __file__)
