"""FEMNIST, from small files in both of its layouts."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from PIL import Image

from terrafl.data.sets import FEMNIST
from terrafl.errors import ConfigurationError, DataError


def _load(tmp_path, seed=0, progress=None):
    return FEMNIST.load(np.random.default_rng(seed), tmp_path, progress)


@pytest.fixture
def images():
    return np.random.default_rng(5).integers(0, 256, (30, 28, 28), dtype=np.uint8)


def _leaf(folder, part, number, users):
    """Write a file as LEAF does: for each user, which images it has."""
    data = {
        "users": list(users),
        "num_samples": [len(x) for x, _ in users.values()],
        "user_data": {
            name: {"x": (x.reshape(-1, 784) / 255).tolist(), "y": y}
            for name, (x, y) in users.items()
        },
    }
    path = folder / part / f"all_data_{number}_niid_0_keep_0_{part}_9.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


@pytest.fixture(params=["femnist", "femnist/data", "leaf/femnist"])
def leaf(request, tmp_path, images):
    folder = tmp_path / request.param
    _leaf(folder, "train", 0, {"f1": (images[:3], [0, 1, 2]), "f2": (images[3:5], [3, 4])})
    _leaf(folder, "train", 1, {"f0": (images[5:6], [61])})
    _leaf(folder, "test", 0, {"f2": (images[6:7], [5]), "f0": (images[7:8], [6])})
    return folder


def test_leaf_s_division_is_kept_file_by_file(leaf, tmp_path, images):
    dataset = _load(tmp_path)

    assert dataset.train.group.tolist() == ["f1", "f1", "f1", "f2", "f2", "f0"]
    assert dataset.train.y.tolist() == [0, 1, 2, 3, 4, 61]
    assert np.array_equal(dataset.train.x[:, 0], images[:6])
    assert dataset.test.group.tolist() == ["f2", "f0"]
    assert np.array_equal(dataset.test.x[:, 0], images[6:8])
    assert (dataset.num_classes, dataset.normalisation.divisor) == (62, 255)


def test_the_second_time_the_arrays_are_mapped(leaf, tmp_path):
    heard = []
    first = _load(tmp_path, progress=lambda *news: heard.append(news))
    told = len(heard)

    second = _load(tmp_path, progress=lambda *news: heard.append(news))

    assert heard[-1] == ("femnist test", 2, None)
    assert len(heard) == told
    assert np.array_equal(second.train.x, first.train.x)
    assert not second.train.x.flags.owndata


def test_changed_files_are_read_again(leaf, tmp_path, images):
    _load(tmp_path)
    _leaf(leaf, "test", 0, {"f2": (images[8:9], [7])})

    dataset = _load(tmp_path)

    assert dataset.test.y.tolist() == [7]


def test_a_label_beyond_the_classes_is_refused(leaf, tmp_path, images):
    _leaf(leaf, "test", 0, {"f2": (images[8:9], [62])})

    with pytest.raises(DataError, match=r"labels of femnist must lie in 0 \.\. 61"):
        _load(tmp_path)


def test_a_damaged_file_is_named_and_no_cache_kept(leaf, tmp_path):
    path = next((leaf / "test").iterdir())
    path.write_text(path.read_text()[:-100])

    with pytest.raises(DataError, match="must be a readable JSON file") as raised:
        _load(tmp_path)

    assert str(path) in str(raised.value)
    assert not list(tmp_path.rglob("*.npy"))
    assert not FEMNIST.check(tmp_path)[0].ok


def test_files_without_a_sample_are_refused(leaf, tmp_path):
    _leaf(leaf, "test", 0, {})

    with pytest.raises(DataError, match="must hold examples; got none"):
        _load(tmp_path)


def test_half_of_leaf_s_folders_is_not_the_data_set(tmp_path, images):
    _leaf(tmp_path / "femnist", "train", 0, {"f1": (images[:1], [0])})

    with pytest.raises(DataError, match="femnist needs the folder femnist, which is missing"):
        _load(tmp_path)


def _png(image) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def parquet(tmp_path, images):
    """Write a table as the hub has it: image structs, writer_id, hsf_id and character."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: terrafl[parquet]")
    from pyarrow import parquet

    def write(name="train-00000-of-00001.parquet", rows=slice(None), label="character", **change):
        contents = [_png(image) for image in images[rows]]
        number = len(contents)
        columns = {
            "image": [{"bytes": content, "path": None} for content in contents],
            "writer_id": [f"f{i % 2:04}_0" for i in range(number)],
            "hsf_id": [0] * number,
            label: list(range(number)),
        } | change
        path = tmp_path / "femnist" / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(columns), path)
        return path

    return write


@pytest.mark.parametrize("label", ["character", "label"])
def test_the_hub_s_characters_are_divided_by_writer(parquet, tmp_path, images, label):
    parquet(label=label)

    dataset = _load(tmp_path)

    parts = (dataset.train, dataset.test)
    assert sorted(np.concatenate([part.y for part in parts])) == list(range(30))
    for part in parts:
        assert np.array_equal(part.x[:, 0], images[part.y])  # a label for each image
        assert part.group.tolist() == [f"f{y % 2:04}_0" for y in part.y]
    assert np.unique(dataset.test.group, return_counts=True)[1].tolist() == [2, 2]  # of 15 each


def test_the_generator_draws_the_division_of_the_hub_s_characters(parquet, tmp_path):
    parquet()

    first, again, other = (_load(tmp_path, seed) for seed in (0, 0, 1))

    assert np.array_equal(first.test.y, again.test.y)
    assert not np.array_equal(first.test.y, other.test.y)


def test_several_files_follow_each_other_by_name(parquet, tmp_path, images):
    parquet("train-00001-of-00002.parquet", slice(20, 30))
    parquet("train-00000-of-00002.parquet", slice(20))

    dataset = _load(tmp_path)

    assert len(dataset.train) + len(dataset.test) == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": [{"bytes": b"no image", "path": None}] * 30}, "must be a whole PNG image"),
        ({"image": [{"bytes": None, "path": "a.png"}] * 30}, "must give every image its bytes"),
        ({"image": [b"bare"] * 30}, "must give every image its bytes"),
        ({"writer_id": [None] * 30}, "must give every image its bytes, writer and label"),
        ({"character": ["a"] * 30}, "must give every image its bytes, writer and label"),
        ({"character": [62] * 30}, r"labels of femnist must lie in 0 \.\. 61"),
    ],
)
def test_a_table_of_other_things_is_refused(parquet, tmp_path, change, message):
    parquet(**change)

    with pytest.raises(DataError, match=message):
        _load(tmp_path)


def test_a_picture_of_another_size_is_refused(parquet, tmp_path):
    picture = {"bytes": _png(np.zeros((2000, 2000), np.uint8)), "path": None}
    parquet(image=[picture] * 30)

    with pytest.raises(DataError, match="must be 28 x 28 pixels"):
        _load(tmp_path)


def test_a_table_without_the_columns_is_refused(parquet, tmp_path):
    parquet(label="digit")

    with pytest.raises(DataError, match="must have columns image, writer_id, character"):
        _load(tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-50], lambda b: b"PAR1" + bytes(200), lambda b: b""]
)
def test_a_damaged_table_is_refused(parquet, tmp_path, damage):
    path = parquet()
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(DataError, match="must be a Parquet file"):
        _load(tmp_path)


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    path = tmp_path / "femnist" / "data" / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1")

    with pytest.raises(ConfigurationError, match=r"pip install 'terrafl\[parquet\]'"):
        _load(tmp_path)
