"""UNIPEN62 and UCI HAR, from small files of the same arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from terrafl.data import ByOwner
from terrafl.data.npz import ArraysFile, digest_of
from terrafl.data.sets import HAR, UNIPEN62
from terrafl.errors import DataError


def _like(path, arrays):
    """Write the arrays; return what describes the file."""
    path.parent.mkdir()
    np.savez(path, **arrays)
    return ArraysFile(name=path.name, limit=path.stat().st_size, sha256=digest_of(arrays))


@pytest.fixture
def characters():
    generator = np.random.default_rng(0)
    writer = generator.permutation(np.repeat(np.arange(3), [40, 20, 2])).astype(np.int32)
    return {
        "images": generator.integers(0, 256, (62, 28, 28), dtype=np.uint8),
        "labels": np.arange(62, dtype=np.uint8),
        "writer": writer,
        "writer_names": np.array(["ibm-01234567", "aga-89abcdef", "x"]),
    }


@pytest.fixture
def unipen(characters, tmp_path):
    file = _like(tmp_path / "unipen62" / "unipen62.npz", characters)
    return replace(UNIPEN62, files=(file,))


def test_each_writer_is_tested_on_a_tenth_and_at_least_one_character(unipen, tmp_path):
    dataset = unipen.load(np.random.default_rng(0), tmp_path)

    counts = [
        dict(zip(*np.unique(part.group, return_counts=True), strict=True))
        for part in (dataset.train, dataset.test)
    ]
    assert counts[0] == {"ibm-01234567": 36, "aga-89abcdef": 18, "x": 1}
    assert counts[1] == {"ibm-01234567": 4, "aga-89abcdef": 2, "x": 1}


def test_characters_keep_their_labels_and_writers(unipen, characters, tmp_path):
    dataset = unipen.load(np.random.default_rng(0), tmp_path)

    for part in (dataset.train, dataset.test):
        for x, y, group in zip(part.x, part.y, part.group, strict=True):
            assert np.array_equal(x, characters["images"][y : y + 1])  # a label for each image
            assert group == characters["writer_names"][characters["writer"][y]]
    assert sorted([*dataset.train.y, *dataset.test.y]) == list(range(62))
    assert dataset.normalisation.divisor == 255


def test_the_generator_draws_the_division_of_the_characters(unipen, tmp_path):
    first, again, other = (unipen.load(np.random.default_rng(s), tmp_path) for s in (0, 0, 1))

    assert np.array_equal(first.test.y, again.test.y)
    assert not np.array_equal(first.test.y, other.test.y)


@pytest.fixture
def windows():
    generator = np.random.default_rng(1)
    chain = np.repeat(np.arange(30), 5).astype(np.int16)
    return {
        "x": generator.normal(3, 2, (150, 9, 128)).astype(np.float32),
        "y": (chain % 6).astype(np.uint8),
        "subject": (chain // 10 * 4).astype(np.uint8),  # 0, 4 and 8
        "chain": chain,
    }


@pytest.fixture
def har(windows, tmp_path):
    file = _like(tmp_path / "uci-har" / "har.npz", windows)
    return replace(HAR, files=(replace(HAR.files[0], arrays=file),))


def test_no_run_of_windows_is_both_trained_and_tested_on(har, windows, tmp_path):
    dataset = har.load(np.random.default_rng(0), tmp_path)

    chain_of = {x.tobytes(): c for x, c in zip(windows["x"], windows["chain"], strict=True)}
    trained, tested = (
        {int(chain_of[x.tobytes()]) for x in part.x} for part in (dataset.train, dataset.test)
    )
    assert trained | tested == set(range(30))
    assert not trained & tested
    assert [sum(c // 10 == subject for c in tested) for subject in range(3)] == [2, 2, 2]


def test_subjects_are_clients_named_in_order(har, tmp_path):
    dataset = har.load(np.random.default_rng(0), tmp_path)

    partition = ByOwner().partition(dataset, np.random.default_rng(0))

    assert partition.client_ids.tolist() == ["00", "04", "08"]
    assert partition.train.sizes().tolist() == [40, 40, 40]


def test_every_channel_of_the_training_windows_is_standardised(har, tmp_path):
    dataset = har.load(np.random.default_rng(0), tmp_path)

    scale, offset = dataset.normalisation.affine()
    x = dataset.train.x.astype(np.float64) * scale[:, np.newaxis] + offset[:, np.newaxis]

    assert x.mean(axis=(0, 2)) == pytest.approx(np.zeros(9), abs=1e-6)
    assert x.std(axis=(0, 2)) == pytest.approx(np.ones(9), abs=1e-6)
    assert dataset.input_shape == (9, 128)
    assert dataset.train.x.dtype == np.float32


@pytest.mark.parametrize(("entry", "name"), [(UNIPEN62, "unipen62.npz"), (HAR, "har.npz")])
def test_other_arrays_than_the_published_ones_are_named(entry, name, tmp_path):
    (tmp_path / name).write_bytes(b"not a zip file")

    with pytest.raises(DataError, match=r"must be a file that numpy\.savez wrote") as raised:
        entry.load(np.random.default_rng(0), tmp_path)

    assert str(tmp_path / name) in str(raised.value)
