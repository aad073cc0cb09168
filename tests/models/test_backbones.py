"""Backbones: their tensors, their weights' file, and the features they give."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from terrafl.errors import ConfigurationError, DataError
from terrafl.models.backbones.catalog import (
    BACKBONES,
    Backbone,
    EfficientNetLite0Backbone,
    InputNormalisation,
    ResNet18Backbone,
)
from terrafl.models.backbones.efficientnet_lite0 import EfficientNetLite0, SameConv2d
from terrafl.models.backbones.extractor import FeatureExtractor
from terrafl.models.backbones.resnet18 import ResNet18
from terrafl.models.backbones.weights import WeightsFile
from terrafl.settings import named

NETWORKS = [(ResNet18, 512), (EfficientNetLite0, 1280)]


class Tiny(nn.Module):
    """Three features: the mean of each channel, weighted; dropout and a norm that must rest."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)
        self.drop = nn.Dropout(0.5)
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return self.drop(self.norm(x)).mean(dim=(2, 3)) * self.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyBackbone:
    name: ClassVar[str] = "tiny"
    num_features: ClassVar[int] = 3
    input_normalisation: ClassVar[InputNormalisation] = InputNormalisation(
        mean=(0.5, 0.4, 0.3), sd=(0.5, 0.25, 0.2)
    )
    weights: WeightsFile
    input_size: int = 8

    def build(self):
        return Tiny()


def _published(path, **options) -> WeightsFile:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return WeightsFile(
        name=path.name, size=len(content), sha256=digest, remedy="Get it there.", **options
    )


@pytest.fixture
def tiny(tmp_path):
    network = Tiny()
    with torch.no_grad():
        network.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
        network.norm.running_mean.fill_(0.25)
    (tmp_path / "weights").mkdir()
    path = tmp_path / "weights" / "tiny.pth"
    torch.save(network.state_dict(), path)
    return TinyBackbone(weights=_published(path))


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (20, 3, 4, 4), dtype=np.uint8)


def test_features_are_those_of_the_enlarged_and_normalised_images_at_rest(tiny, images, tmp_path):
    features = FeatureExtractor(tiny, tmp_path).features(images)

    mean, sd = (torch.tensor(v).view(3, 1, 1) for v in tiny.input_normalisation)
    large = functional.interpolate(torch.tensor(images) / 255, (8, 8), mode="bilinear")
    normed = ((large - mean) / sd - 0.25) / (1 + 1e-5) ** 0.5
    expected = normed.mean(dim=(2, 3)) * torch.tensor([1.0, 2.0, 3.0])
    assert features.dtype == np.float32
    assert features == pytest.approx(expected.numpy(), abs=1e-5)


def test_images_of_the_input_size_are_not_resized(tiny, images, tmp_path):
    features = FeatureExtractor(replace(tiny, input_size=4), tmp_path).features(images)

    mean, sd = (torch.tensor(v).view(3, 1, 1) for v in tiny.input_normalisation)
    normed = ((torch.tensor(images) / 255 - mean) / sd - 0.25) / (1 + 1e-5) ** 0.5
    expected = normed.mean(dim=(2, 3)) * torch.tensor([1.0, 2.0, 3.0])
    assert features == pytest.approx(expected.numpy(), abs=1e-5)


def test_features_come_without_gradients_and_twice_the_same(tiny, images, tmp_path):
    extractor = FeatureExtractor(tiny, tmp_path)

    first, second = (extractor.features(images) for _ in range(2))

    assert np.array_equal(first, second)


def test_images_that_must_not_be_written_are_taken_too(tiny, images, tmp_path):
    images.flags.writeable = False

    assert FeatureExtractor(tiny, tmp_path).features(images).shape == (20, 3)


def test_no_images_have_no_features(tiny, images, tmp_path):
    assert FeatureExtractor(tiny, tmp_path).features(images[:0]).shape == (0, 3)


@pytest.mark.parametrize("shape", [(5, 1, 4, 4), (5, 3, 4), (3, 4, 4)], ids=str)
def test_other_inputs_than_colour_images_are_refused(tiny, shape, tmp_path):
    with pytest.raises(DataError, match="needs images with three channels"):
        FeatureExtractor(tiny, tmp_path).features(np.zeros(shape, np.uint8))


def test_missing_weights_are_named_with_the_places_and_how_to_get_them(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    with pytest.raises(DataError, match=r"the weights tiny\.pth are missing") as raised:
        FeatureExtractor(tiny)

    for place in (tmp_path / "data" / "weights", tmp_path / "cache" / "terrafl" / "weights"):
        assert str(place) in str(raised.value)
    assert str(raised.value).endswith("Get it there.")


@pytest.mark.parametrize("variable", ["TERRAFL_DATA", "XDG_CACHE_HOME"])
def test_weights_are_found_in_the_users_folders(tiny, tmp_path, monkeypatch, variable, images):
    for name in ("TERRAFL_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setenv(variable, str(tmp_path / "somewhere"))
    folder = tmp_path / "somewhere" / ("terrafl" if variable == "XDG_CACHE_HOME" else "")
    folder.mkdir(parents=True)
    (tmp_path / "weights").rename(folder / "weights")

    assert FeatureExtractor(tiny).features(images).shape == (20, 3)


def test_weights_are_found_in_a_package_that_carries_them(tiny, tmp_path, monkeypatch):
    package = tmp_path / "site" / "carrier"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "weights" / "tiny.pth").rename(package / "models" / "tiny.pth")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delenv("TERRAFL_DATA", raising=False)
    weights = replace(tiny.weights, package="carrier")

    FeatureExtractor(replace(tiny, weights=weights))

    assert "carrier" not in sys.modules


@pytest.mark.parametrize("end", [b"", b"!", b"!!"])
def test_another_file_is_not_loaded(tiny, tmp_path, end):
    path = tmp_path / "weights" / "tiny.pth"
    path.write_bytes(path.read_bytes()[:-1] + end)

    message = r"the sha256 of .*tiny\.pth must be .* Delete it\. Get it there\."
    with pytest.raises(DataError, match=message):
        FeatureExtractor(tiny, tmp_path)


def test_a_file_of_other_tensors_does_not_fit(tiny, tmp_path):
    path = tmp_path / "weights" / "tiny.pth"
    torch.save({"weight": torch.zeros(3)}, path)

    with pytest.raises(DataError, match=r"tiny\.pth must hold the tensors of tiny; got others"):
        FeatureExtractor(replace(tiny, weights=_published(path)), tmp_path)


class Hostile:
    def __reduce__(self):
        return print, ("executed",)


def test_a_file_that_would_run_a_program_is_refused_unrun(tiny, tmp_path, capsys):
    path = tmp_path / "weights" / "tiny.pth"
    torch.save({"weight": Hostile()}, path)

    with pytest.raises(DataError, match="must hold tensors only"):
        FeatureExtractor(replace(tiny, weights=_published(path)), tmp_path)

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("network", "width"), NETWORKS, ids=["resnet18", "efficientnet-lite0"])
@pytest.mark.parametrize("side", [32, 65])
def test_images_of_any_size_give_features(network, width, side):
    with torch.no_grad():
        features = network().eval()(torch.zeros(2, 3, side, side))

    assert features.shape == (2, width)


@pytest.mark.parametrize(
    ("network", "parameters", "tensors"),
    [(ResNet18, 11_689_512, 122), (EfficientNetLite0, 4_652_008, 296)],
    ids=["resnet18", "efficientnet-lite0"],
)
def test_a_network_has_its_published_size_and_number_of_tensors(network, parameters, tensors):
    built = network()

    assert sum(parameter.numel() for parameter in built.parameters()) == parameters
    assert len(built.state_dict()) == tensors


@pytest.mark.parametrize(("network", "width"), NETWORKS, ids=["resnet18", "efficientnet-lite0"])
def test_the_classifier_reads_the_features(network, width):
    built, x = (
        network().eval(),
        torch.rand(2, 3, 40, 40, generator=torch.Generator().manual_seed(0)),
    )

    classifier = list(built.children())[-1]
    with torch.no_grad():
        features = built(x)

    assert features.shape == (2, width)
    assert classifier(features).shape == (2, 1000)


def test_resnet18_names_its_tensors_as_torchvision_does():
    names = set(ResNet18().state_dict())

    assert {
        "conv1.weight",
        "bn1.running_mean",
        "layer1.0.conv1.weight",
        "layer1.1.bn2.bias",
        "layer2.0.downsample.0.weight",
        "layer2.0.downsample.1.running_var",
        "layer4.1.bn2.num_batches_tracked",
        "fc.bias",
    } <= names
    assert "layer1.0.downsample.0.weight" not in names


def test_efficientnet_lite0_names_its_tensors_as_its_weights_do():
    shapes = {name: tuple(t.shape) for name, t in EfficientNetLite0().state_dict().items()}

    assert shapes["_conv_stem.weight"] == (32, 3, 3, 3)
    assert "_blocks.0._expand_conv.weight" not in shapes
    assert shapes["_blocks.3._depthwise_conv.weight"] == (144, 1, 5, 5)
    assert shapes["_blocks.15._project_conv.weight"] == (320, 1152, 1, 1)
    assert shapes["_conv_head.weight"] == (1280, 320, 1, 1)
    assert shapes["_fc.weight"] == (1000, 1280)


@pytest.mark.parametrize("side", [7, 8])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 1), (5, 2)])
def test_padding_is_that_of_tensorflow(side, kernel, stride):
    convolution = SameConv2d(1, 1, kernel, stride, bias=False)
    nn.init.ones_(convolution.weight)
    x = torch.rand(1, 1, side, side, generator=torch.Generator().manual_seed(0))

    with torch.no_grad():
        result = convolution(x)[0, 0]

    outputs = -(-side // stride)
    before = max(0, (outputs - 1) * stride + kernel - side) // 2
    assert result.shape == (outputs, outputs)
    for i in range(outputs):
        for j in range(outputs):
            top, left = i * stride - before, j * stride - before
            window = x[0, 0, max(0, top) : top + kernel, max(0, left) : left + kernel]
            assert result[i, j].item() == pytest.approx(window.sum().item(), abs=1e-5)


@pytest.mark.parametrize("cls", [ResNet18Backbone, EfficientNetLite0Backbone])
def test_backbones_are_in_the_catalogue_with_their_resolution(cls):
    backbone = named(BACKBONES, {"name": cls.name, "input_size": 96}, "backbone")

    assert backbone == cls(input_size=96)
    assert isinstance(backbone, Backbone)
    with pytest.raises(
        ConfigurationError, match=r"backbone\.input_size must be at least 32 pixels"
    ):
        named(BACKBONES, {"name": cls.name, "input_size": 31}, "backbone")


def test_naming_backbones_imports_no_torch():
    program = (
        "import sys, terrafl.models as models\n"
        "models.BACKBONES['resnet18'](input_size=64)\n"
        "print('torch' in sys.modules)\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("False\n", "")
