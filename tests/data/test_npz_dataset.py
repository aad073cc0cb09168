"""A data set of one's own."""

import json

import numpy as np
import pytest

import terrafl
from terrafl.data import load
from terrafl.errors import ConfigurationError, DataError


@pytest.fixture
def arrays():
    generator = np.random.default_rng(0)
    x = generator.normal(3.0, 2.0, size=(120, 4))
    y = (x[:, 0] > 3.0).astype(np.int64)
    owner = np.array([f"sensor-{i % 6}" for i in range(120)])
    return {
        "x_train": x[:96],
        "y_train": y[:96],
        "owner_train": owner[:96],
        "x_test": x[96:],
        "y_test": y[96:],
        "owner_test": owner[96:],
    }


@pytest.fixture
def written(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "mine.npz", **arrays)
        return str(tmp_path / "mine.npz")

    return write


def read(path):
    return load(path, generator=np.random.default_rng(0))


def test_arrays_become_a_data_set(written, arrays):
    dataset = read(written(**arrays))

    assert dataset.name == "mine"
    assert dataset.num_classes == 2
    assert dataset.input_shape == (4,)
    assert np.array_equal(dataset.train.x, arrays["x_train"].astype(np.float32))
    assert np.array_equal(dataset.test.group, arrays["owner_test"])


@pytest.mark.parametrize("shape", [(96, 4), (96, 2, 8), (96, 3, 5, 5)])
def test_inputs_are_standardised_per_channel(written, arrays, shape):
    x = np.random.default_rng(1).normal(7.0, 3.0, size=shape)

    dataset = read(written(**arrays | {"x_train": x, "x_test": x[:24]}))

    scale, offset = dataset.normalisation.affine()
    rest = (1,) * (len(shape) - 2)
    ready = dataset.train.x * scale.reshape(1, -1, *rest) + offset.reshape(1, -1, *rest)
    axes = (0, *range(2, len(shape)))
    assert np.allclose(ready.mean(axis=axes), 0, atol=1e-4)
    assert np.allclose(ready.std(axis=axes), 1, atol=1e-4)


def test_a_constant_feature_does_no_harm(written, arrays):
    arrays["x_train"][:, 2] = arrays["x_test"][:, 2] = 5.0

    scale, offset = read(written(**arrays)).normalisation.affine()

    assert np.isfinite(scale).all()
    assert np.isfinite(offset).all()


def test_a_federation_trains_on_it_with_every_owner_a_client(written, arrays, tmp_path):
    result = terrafl.run(
        dataset=written(**arrays),
        selector="random",
        rounds=2,
        clients_per_round=3,
        workers=1,
        out=tmp_path / "run",
    )

    events = [json.loads(line) for line in result.folder.journal.read_text().splitlines()]
    assert events[0]["clients"] == 6
    assert events[1]["clients"][0].startswith("sensor-")
    assert terrafl.resume(tmp_path / "run").summary == result.summary


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x_train": None}, "must hold x_train, y_train, x_test, y_test"),
        ({"owner_test": None}, "and owner_train and owner_test or neither"),
        ({"y_train": np.zeros((96, 2))}, "y_train must be one number per example"),
        ({"y_train": np.full(96, np.inf)}, "y_train must be finite"),
        ({"y_train": np.full(96, "a")}, "y_train must be numbers"),
        ({"y_train": np.full(96, -1)}, "labels of mine must lie in 0 .. 1; got -1"),
        ({"x_train": np.zeros((96, 4), bool)}, "x_train must be numbers; got bool"),
        ({"x_train": np.full((96, 4), np.nan)}, "x_train must be finite"),
        ({"x_train": np.zeros((96, 5))}, "must be examples of one shape"),
        ({"x_train": np.zeros((95, 4))}, "every input needs one target"),
    ],
)
def test_what_is_wrong_is_said(written, arrays, change, sentence):
    changed = {name: each for name, each in (arrays | change).items() if each is not None}

    with pytest.raises(DataError, match=r"mine\.npz") as error:
        read(written(**changed))

    assert sentence in str(error.value)


def test_objects_are_never_unpickled(written, arrays):
    with pytest.raises(DataError, match=r"must be a file that numpy\.savez wrote"):
        read(written(**arrays | {"x_train": np.array([{}] * 96)}))


def test_a_file_that_is_missing_is_said(tmp_path):
    with pytest.raises(DataError, match=r"none\.npz must be a file that numpy\.savez wrote"):
        terrafl.run(dataset=str(tmp_path / "none.npz"), selector="random", rounds=1, workers=1)


def test_a_scenario_keeps_its_own_data(tmp_path):
    with pytest.raises(ConfigurationError, match="for scenario digits"):
        terrafl.run(dataset="mine.npz", scenario="digits", rounds=1)
