"""Compute the features of images with a frozen backbone."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from terrafl.errors import DataError
from terrafl.models.backbones.catalog import Backbone

_BATCH = 16  # fastest on one core: activations stay in the cache


class FeatureExtractor:
    """A backbone with its pretrained weights, which are not trained further.

    Parameters
    ----------
    backbone
        The backbone and its resolution.
    root
        Where to search the weights, see
        :meth:`terrafl.models.backbones.weights.WeightsFile.load`.

    Notes
    -----
    The last bits of an image's features depend on the number of torch threads, on the machine and
    on the other images in its batch of 16. A caller that stores features must keep the first two
    fixed and pass images in multiples of 16.
    """

    def __init__(self, backbone: Backbone, root: Path | None = None) -> None:
        self._size = backbone.input_size
        self._network = backbone.build()
        tensors = backbone.weights.load(root)
        try:
            self._network.load_state_dict(tensors, strict=True)
        except RuntimeError as error:
            raise DataError(
                f"{backbone.weights.name} must hold the tensors of {backbone.name}; got others."
            ) from error
        self._network.eval().requires_grad_(False)
        layout = torch.channels_last  # a quarter faster
        self._network.to(memory_format=layout)  # type: ignore[call-overload]  # not in its stub
        self._num_features = backbone.num_features
        mean, sd = (torch.tensor(v).view(1, 3, 1, 1) for v in backbone.input_normalisation)
        self._scale, self._offset = 1 / (255 * sd), -mean / sd

    def features(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the features (n, d) of images (n, 3, height, width)."""
        if images.ndim != 4 or images.shape[1] != 3:
            raise DataError(f"a backbone needs images with three channels; got {images.shape}.")
        features = np.empty((len(images), self._num_features), dtype=np.float32)
        for start in range(0, len(images), _BATCH):
            batch = slice(start, start + _BATCH)
            features[batch] = self._features(images[batch].astype(np.float32))
        return features

    @torch.no_grad()
    def _features(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        x = torch.from_numpy(pixels) * self._scale + self._offset
        if x.shape[2:] != (self._size, self._size):
            x = functional.interpolate(x, (self._size, self._size), mode="bilinear")
        features: torch.Tensor = self._network(x.contiguous(memory_format=torch.channels_last))
        return features.numpy()
