"""Features of a frozen backbone: a real, tiny one, with weights of its own on disk."""

import hashlib
import importlib
import sys

import numpy as np
import pytest
import torch

from terrafl.data import Dataset, Examples, Normalisation
from terrafl.errors import ConfigurationError, DataError
from terrafl.models.backbones.extractor import FeatureExtractor
from terrafl.simulation.features import CHUNK, with_features

MODULE = """
from dataclasses import dataclass
from typing import ClassVar
from torch import nn
from terrafl.models.backbones.catalog import InputNormalisation
from terrafl.models.backbones.weights import WeightsFile

@dataclass(frozen=True)
class Tiny:
    name: ClassVar[str] = "tiny"
    num_features: ClassVar[int] = 5
    input_normalisation: ClassVar[InputNormalisation] = InputNormalisation((0.5,) * 3, (0.5,) * 3)
    weights: ClassVar[WeightsFile] = WeightsFile(
        name="tiny.pth", size={size}, sha256="{sha256}", remedy="Make it again."
    )
    input_size: int = 8

    def build(self):
        return nn.Sequential(nn.Conv2d(3, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
"""


@pytest.fixture
def backbone(tmp_path, monkeypatch):
    """Return a backbone whose module, weights and cache live in the test's folder."""
    weights = tmp_path / "data" / "weights" / "tiny.pth"
    weights.parent.mkdir(parents=True)
    generator = torch.Generator().manual_seed(0)
    tensors = {
        "0.weight": torch.randn(5, 3, 3, 3, generator=generator),
        "0.bias": torch.randn(5, generator=generator),
    }
    torch.save(tensors, weights)
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    text = MODULE.format(size=weights.stat().st_size, sha256=digest)
    (tmp_path / "tiny_backbone.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "data"))
    yield importlib.import_module("tiny_backbone").Tiny()
    del sys.modules["tiny_backbone"]


@pytest.fixture
def images():
    generator = np.random.default_rng(0)

    def part(count):
        x = generator.integers(0, 256, (count, 3, 6, 6), dtype=np.uint8)
        return Examples(x, generator.integers(0, 2, count))

    return Dataset(
        name="images",
        train=part(CHUNK + 70),
        test=part(30),
        num_classes=2,
        normalisation=Normalisation(255.0),
    )


def test_features_are_those_of_the_backbone(backbone, images, tmp_path):
    featured = with_features(images, backbone, place=tmp_path / "features")

    extractor = FeatureExtractor(backbone)
    assert np.array_equal(featured.train.x, extractor.features(images.train.x))
    assert np.array_equal(featured.test.x, extractor.features(images.test.x))
    assert np.array_equal(featured.train.y, images.train.y)
    assert featured.input_shape == (5,)


def test_features_are_computed_once_and_then_need_no_weights(backbone, images, tmp_path):
    progress = []
    place = tmp_path / "features"

    first = with_features(
        images, backbone, place=place, on_images=lambda done, total: progress.append((done, total))
    )
    (tmp_path / "data" / "weights" / "tiny.pth").unlink()
    again = with_features(images, backbone, place=place, on_images=lambda *_: pytest.fail("again"))

    total = len(images.train) + len(images.test)
    assert progress[-1] == (total, total)
    assert again.train.x.tobytes() == first.train.x.tobytes()


def test_missing_weights_are_missing_data_though_a_worker_finds_out(backbone, images, tmp_path):
    (tmp_path / "data" / "weights" / "tiny.pth").unlink()

    with pytest.raises(DataError, match=r"weights tiny\.pth are missing"):
        with_features(images, backbone, place=tmp_path / "features")


def test_the_number_of_workers_does_not_reach_the_features(backbone, images, tmp_path):
    alone = with_features(images, backbone, place=tmp_path / "one", workers=1)
    together = with_features(images, backbone, place=tmp_path / "two", workers=2)

    assert together.train.x.tobytes() == alone.train.x.tobytes()


def test_damaged_features_are_computed_again(backbone, images, tmp_path):
    place = tmp_path / "features"
    before = with_features(images, backbone, place=place).train.x.tobytes()
    (file,) = place.glob("*/train.npy")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)

    after = with_features(images, backbone, place=place)

    assert after.train.x.tobytes() == before


def test_other_pixels_have_features_of_their_own(backbone, images, tmp_path):
    place = tmp_path / "features"
    with_features(images, backbone, place=place)
    images.train.x[0] ^= 1

    with_features(images, backbone, place=place)

    assert len([path for path in place.iterdir() if path.is_dir()]) == 2


def test_grey_images_are_refused(backbone, tmp_path):
    grey = Examples(np.zeros((2, 1, 6, 6), dtype=np.uint8), np.array([0, 1]))
    dataset = Dataset(
        name="grey", train=grey, test=grey, num_classes=2, normalisation=Normalisation()
    )

    with pytest.raises(ConfigurationError, match="colour images"):
        with_features(dataset, backbone, place=tmp_path)
