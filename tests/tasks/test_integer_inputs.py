"""Integer inputs reach the network as they are: words, for an embedding."""

import sys

import numpy as np
import pytest

import terrafl
from terrafl.data import load
from terrafl.errors import ConfigurationError, DataError

WORDS, LENGTH = 40, 6

NETWORK = """
from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar
import torch
from torch import nn

class Mean(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)

class Checked(nn.Embedding):
    def forward(self, x):
        assert x.dtype == torch.int64, x.dtype
        return super().forward(x)

@dataclass(frozen=True)
class Bag:
    name: ClassVar[str] = "bag"
    final_layer: ClassVar[str] = "head"

    def build(self, input_shape, num_outputs):
        return nn.Sequential(
            OrderedDict(words=Checked(40, 8), mean=Mean(), head=nn.Linear(8, num_outputs))
        )
"""


@pytest.fixture
def sentences(tmp_path):
    """Sentences of six words; the label says which half of the words they are from."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, size=400)
    x = generator.integers(0, WORDS // 2, size=(400, LENGTH)) + y[:, np.newaxis] * (WORDS // 2)
    path = tmp_path / "sentences.npz"
    arrays = {"x_train": x[:300].astype(np.int32), "x_test": x[300:].astype(np.int32)}
    np.savez(path, **arrays, y_train=y[:300], y_test=y[300:])
    return path, arrays


def settings(path, **changes):
    return {
        "dataset": str(path),
        "selector": "terraform",
        "partition": {"name": "iid", "clients": 8},
        "clients_per_round": 6,
        "rounds": 4,
        "training": {"learning_rate": 1.0, "epochs": 4, "batch_size": 10},
        "workers": 1,
        **changes,
    }


def test_integers_are_read_as_they_are(sentences):
    path, arrays = sentences
    dataset = load(str(path), generator=np.random.default_rng(0))
    assert dataset.train.x.dtype == np.int64
    assert np.array_equal(dataset.train.x, arrays["x_train"])
    assert dataset.has_raw_inputs


def test_an_embedding_learns_in_process_and_in_workers(sentences, tmp_path, monkeypatch):
    (tmp_path / "bag_network.py").write_text(NETWORK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bag_network", raising=False)
    model = {"name": "bag_network:Bag"}
    path, _ = sentences

    alone = terrafl.run(out=tmp_path / "alone", **settings(path, model=model))
    together = terrafl.run(out=tmp_path / "together", **settings(path, model=model, workers=2))

    assert alone.accuracy > 0.9
    assert together.folder.model.read_bytes() == alone.folder.model.read_bytes()


def test_a_network_without_an_embedding_is_refused(sentences, tmp_path):
    with pytest.raises(ConfigurationError, match="inputs of sentences are integers; got mlp"):
        terrafl.run(out=tmp_path / "run", **settings(sentences[0], model="mlp"))


def test_bytes_are_normalised_as_before(tmp_path):
    x = np.arange(40, dtype=np.uint8).reshape(10, 4)
    np.savez(tmp_path / "b.npz", x_train=x, y_train=x[:, 0] % 2, x_test=x, y_test=x[:, 0] % 2)
    dataset = load(str(tmp_path / "b.npz"), generator=np.random.default_rng(0))
    assert dataset.train.x.dtype == np.uint8
    assert not dataset.has_raw_inputs
    assert dataset.normalisation.mean == pytest.approx(tuple(x.mean(axis=0)))


@pytest.mark.parametrize("part", ["x_test", "y_test"])
def test_training_and_test_examples_are_of_one_type(tmp_path, part):
    x, y = np.ones((10, 4), dtype=np.int64), np.arange(10) % 2
    arrays = {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
    np.savez(tmp_path / "m.npz", **(arrays | {part: arrays[part].astype(float)}))
    with pytest.raises(DataError, match="must be of the same type"):
        load(str(tmp_path / "m.npz"), generator=np.random.default_rng(0))
