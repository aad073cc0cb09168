"""Weights are looked for before data that takes long to read."""

import hashlib
from types import SimpleNamespace

import pytest

from terrafl.errors import DataError
from terrafl.experiments import warm_up
from terrafl.experiments.config import resolve
from terrafl.experiments.warm_up import load_data, read_data
from terrafl.models import BACKBONES
from terrafl.models.backbones.weights import WeightsFile
from terrafl.simulation.features import require_weights

CONTENT = b"weights"
HERE = "0123456789abcdef"


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """Have neither weights nor features."""
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def read(monkeypatch):
    """Note what is read, and read nothing."""
    names = []

    def load(name, **options):
        names.append(name)
        return SimpleNamespace(name=name)

    monkeypatch.setattr(warm_up, "load", load)
    monkeypatch.setattr(warm_up, "with_features", lambda dataset, *_, **options: dataset)
    return names


@pytest.fixture
def weights(monkeypatch):
    """Let ResNet-18's weights be a small file."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    file = WeightsFile(name="tiny.pth", size=len(CONTENT), sha256=digest, remedy="Get it.")
    monkeypatch.setattr(BACKBONES["resnet18"], "weights", file)


CONFIG = resolve({"scenario": "tiny-imagenet"})
USES = [pytest.param(lambda: read_data([CONFIG]), id="before runs"), lambda: load_data(CONFIG)]


@pytest.mark.parametrize("use", USES)
def test_missing_weights_are_told_before_anything_is_read(use, read):
    with pytest.raises(
        DataError, match=r"weights .* missing; .* Run `terrafl data fetch resnet18`"
    ):
        use()

    assert read == []


@pytest.mark.parametrize("use", USES)
def test_with_weights_the_data_is_read(use, read, weights, folders):
    (folders / "data" / "weights").mkdir(parents=True)
    (folders / "data" / "weights" / "tiny.pth").write_bytes(CONTENT)

    use()

    assert read == ["tiny-imagenet"]


@pytest.mark.parametrize("use", USES)
def test_features_that_are_kept_need_no_weights(use, read, folders):
    kept = folders / "cache" / "terrafl" / "features" / f"tiny-imagenet-resnet18-{HERE}"
    kept.mkdir(parents=True)

    use()

    assert read == ["tiny-imagenet"]


@pytest.mark.parametrize(
    "kept",
    [
        f"tiny-imagenet-efficientnet-lite0-{HERE}",
        f"cifar10-resnet18-{HERE}",
        f"tiny-imagenet-resnet18-{HERE}.part",
    ],
)
def test_features_of_another_kind_do_not_count(kept, read, folders):
    (folders / "cache" / "terrafl" / "features" / kept).mkdir(parents=True)

    with pytest.raises(DataError, match="are missing"):
        read_data([CONFIG])


def test_a_file_of_one_s_own_is_known_by_its_stem(folders):
    kept = folders / "cache" / "terrafl" / "features" / f"my[1]-resnet18-{HERE}"
    kept.mkdir(parents=True)

    require_weights(str(folders / "my[1].npz"), CONFIG.backbone)
    with pytest.raises(DataError, match="are missing"):
        require_weights(str(folders / "my1.npz"), CONFIG.backbone)


def test_runs_without_a_backbone_need_no_weights(read):
    read_data([resolve({"scenario": "femnist"})])

    assert read == ["femnist"]
