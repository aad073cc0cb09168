"""CIFAR-10 and CIFAR-100, from small files in their official layout."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from terrafl.data.files import DataFile
from terrafl.data.sets import CIFAR10, CIFAR100
from terrafl.data.sets.cifar import decode_records
from terrafl.errors import DataError

BATCHES = [f"data_batch_{i}.bin" for i in range(1, 6)]


def _records(number: int, label_bytes: int, first: int) -> tuple[bytes, np.ndarray, np.ndarray]:
    """Return records as the format's page describes them, and what they hold."""
    generator = np.random.default_rng(first)
    images = generator.integers(0, 256, (number, 3, 32, 32), dtype=np.uint8)
    labels = [(first + i) % 10 for i in range(number)]
    content = b"".join(
        bytes([99] * (label_bytes - 1) + [label]) + image.tobytes()
        for label, image in zip(labels, images, strict=True)
    )
    return content, images, np.array(labels)


def _write(folder, entry, contents):
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return replace(
        entry,
        files=tuple(
            DataFile(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest())
            for name, content in contents.items()
        ),
    )


@pytest.fixture
def ten(tmp_path):
    made = {name: _records(3, 1, i) for i, name in enumerate([*BATCHES, "test_batch.bin"])}
    contents = {name: content for name, (content, _, _) in made.items()}
    return _write(tmp_path / "cifar-10-batches-bin", CIFAR10, contents), made


def test_the_five_batches_of_cifar10_follow_each_other(ten, tmp_path):
    entry, made = ten

    dataset = entry.load(np.random.default_rng(0), tmp_path)

    train = [made[name] for name in BATCHES]
    assert np.array_equal(dataset.train.x, np.concatenate([images for _, images, _ in train]))
    assert dataset.train.y.tolist() == [label for _, _, labels in train for label in labels]
    assert np.array_equal(dataset.test.x, made["test_batch.bin"][1])
    assert dataset.input_shape == (3, 32, 32)
    assert dataset.train.x.dtype == np.uint8


def test_the_fine_labels_of_cifar100_are_read(tmp_path):
    made = {name: _records(4, 2, i) for i, name in enumerate(["train.bin", "test.bin"])}
    contents = {name: content for name, (content, _, _) in made.items()}
    entry = _write(tmp_path / "cifar-100-binary", CIFAR100, contents)

    dataset = entry.load(np.random.default_rng(0), tmp_path)

    for part, name in ((dataset.train, "train.bin"), (dataset.test, "test.bin")):
        _, images, labels = made[name]
        assert np.array_equal(part.x, images)
        assert part.y.tolist() == labels.tolist()
    assert dataset.num_classes == 100


def test_images_are_views_of_the_file_and_the_reader_may_write_to_its_own_pages(tmp_path):
    content, _, _ = _records(4, 2, 0)
    entry = _write(tmp_path / "cifar-100-binary", CIFAR100, dict.fromkeys(["train.bin"], content))
    (file,) = entry.files

    x, _ = decode_records(
        file.read(tmp_path / "cifar-100-binary" / "train.bin"), "train.bin", label_bytes=2
    )
    x[0] = 0

    assert not x.flags.owndata
    assert (tmp_path / "cifar-100-binary" / "train.bin").read_bytes() == content


def test_one_wrong_byte_is_noticed(ten, tmp_path):
    entry, _ = ten
    path = tmp_path / "cifar-10-batches-bin" / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"!")

    with pytest.raises(DataError, match=r"data_batch_3\.bin must be .* fetch cifar10"):
        entry.load(np.random.default_rng(0), tmp_path)


def test_a_file_of_another_length_is_noticed_before_it_is_read(ten, tmp_path):
    entry, _ = ten
    path = tmp_path / "cifar-10-batches-bin" / "test_batch.bin"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(DataError, match="must have 9219 bytes; got 9218"):
        entry.load(np.random.default_rng(0), tmp_path)


@pytest.mark.parametrize("length", [0, 1, 3072, 3074])
def test_bytes_that_are_no_whole_records_are_refused(length):
    with pytest.raises(DataError, match=f"must be records of 3073 bytes; got {length} bytes"):
        decode_records(bytes(length), "some.bin", label_bytes=1)


@pytest.mark.parametrize(
    ("entry", "mean", "sd"),
    [
        (CIFAR10, (0.4914, 0.4822, 0.4465), (0.247, 0.243, 0.261)),
        (CIFAR100, (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    ],
    ids=["cifar10", "cifar100"],
)
def test_the_published_files_are_known_by_size_and_normalised_by_channel(entry, mean, sd, tmp_path):
    contents = {file.name: bytes(2 + 3072 - (entry is CIFAR10)) for file in entry.files}

    _, _, normalisation = entry.decode(contents, np.random.default_rng(0))

    record = 3073 if entry is CIFAR10 else 3074
    assert sum(file.size for file in entry.files) == record * (entry.num_train + entry.num_test)
    assert normalisation.mean == mean
    assert normalisation.sd == sd
