"""A process that computes the features of images, into shared memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from terrafl.models import BACKBONES
from terrafl.models.backbones.extractor import FeatureExtractor
from terrafl.settings import named
from terrafl.simulation.memory import SharedMemory, places_of
from terrafl.simulation.process import Message, serve


@dataclass(slots=True)
class FeatureWorker:
    """Answers the messages of :mod:`terrafl.simulation.features`."""

    extractor: FeatureExtractor | None = None
    images: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    features: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __call__(self, message: Message, answer: Callable[[Message], None]) -> None:
        """Take up the images, or compute the features of some."""
        if message["do"] == "prepare":
            torch.set_num_threads(1)
            self.extractor = FeatureExtractor(named(BACKBONES, message["backbone"], "backbone"))
            memory = SharedMemory(message["memory"])
            self.images = memory.view(places_of(message["images"]))
            self.features = memory.view(places_of(message["features"]))
        else:
            assert self.extractor is not None
            rows = slice(message["start"], message["stop"])
            images = np.asarray(self.images[message["part"]][rows], dtype=np.uint8)
            self.features[message["part"]][rows] = self.extractor.features(images)
        answer({})


if __name__ == "__main__":
    serve(FeatureWorker())
