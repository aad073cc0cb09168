"""Turn stored images into the features that a frozen backbone sees in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from terrafl.errors import DataError
from terrafl.models.backbones.protocol import Backbone

__all__ = ["FeatureExtractor"]

_BATCH = 64


class FeatureExtractor:
    """A backbone with its pretrained weights, never trained again.

    Parameters
    ----------
    backbone
        Which, and at which resolution.
    root
        Where to look for the weights, see
        :meth:`terrafl.models.backbones.weights.WeightsFile.load`.

    Notes
    -----
    An image's features may differ in the last bits between numbers of torch threads, between
    machines, and with the images it shares a batch of 64 with; a caller who keeps features
    keeps the first two the same and hands images over in multiples of 64.
    """

    def __init__(self, backbone: Backbone, root: Path | None = None) -> None:
        self._size = backbone.input_size
        self._network = backbone.build()
        tensors = backbone.weights.load(root)
        try:
            self._network.load_state_dict(tensors, strict=True)
        except RuntimeError as error:
            raise DataError(f"{backbone.weights.name} does not fit {backbone.name}.") from error
        self._network.eval().requires_grad_(False)
        mean, sd = (torch.tensor(v).view(1, 3, 1, 1) for v in backbone.input_normalisation)
        self._scale, self._offset = 1 / (255 * sd), -mean / sd

    def features(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the features (n, d) of images (n, 3, height, width)."""
        batches = [images[start : start + _BATCH] for start in range(0, len(images), _BATCH)]
        return np.concatenate([self._features(np.ascontiguousarray(batch)) for batch in batches])

    @torch.no_grad()
    def _features(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        x = torch.from_numpy(images).float() * self._scale + self._offset
        if x.shape[2:] != (self._size, self._size):
            x = functional.interpolate(x, (self._size, self._size), mode="bilinear")
        features: NDArray[np.float32] = self._network(x).numpy()
        return features
