from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable

import numpy as np
import pytest

from terrafl.data import Dataset, Examples, Normalisation, Partition
from terrafl.data.files import GzipFile

MakeDataset = Callable[..., Dataset]


def _examples(labels: np.ndarray, group: list[str] | None = None) -> Examples:
    owners = None if group is None else np.array(group, dtype=np.str_)
    return Examples(np.zeros((len(labels), 1, 1, 1), dtype=np.uint8), labels, owners)


@pytest.fixture(scope="session")
def of_labels() -> MakeDataset:
    """Make a data set of given labels; inputs are nothing."""

    def make(train, test, *, num_classes=None, train_group=None, test_group=None) -> Dataset:
        train, test = (np.asarray(labels, dtype=np.int64) for labels in (train, test))
        most = int(np.concatenate([train, test]).max(initial=0)) + 1
        return Dataset(
            name="made-up",
            train=_examples(train, train_group),
            test=_examples(test, test_group),
            num_classes=num_classes or most,
            normalisation=Normalisation(),
        )

    return make


@pytest.fixture(scope="session")
def balanced(of_labels) -> MakeDataset:
    """Make a data set with equally many examples of each class, in mixed order."""

    def make(train: int, test: int, num_classes: int) -> Dataset:
        generator = np.random.default_rng(7)
        labels = (generator.permutation(np.arange(n) % num_classes) for n in (train, test))
        return of_labels(*labels, num_classes=num_classes)

    return make


@pytest.fixture(scope="session")
def fmnist_like(balanced) -> Dataset:
    return balanced(60000, 10000, 10)


@pytest.fixture(scope="session")
def digits_like(balanced) -> Dataset:
    return balanced(1437, 360, 10)


@pytest.fixture(scope="session")
def assert_dealt() -> Callable[[Partition, Dataset], None]:
    """Assert that each example has exactly one owner."""

    def check(partition: Partition, dataset: Dataset) -> None:
        assert sorted(partition.train.indices.tolist()) == list(range(len(dataset.train)))
        assert sorted(partition.test.indices.tolist()) == list(range(len(dataset.test)))

    return check


@pytest.fixture(scope="session")
def counts_of() -> Callable[[Partition, Dataset], tuple[np.ndarray, np.ndarray]]:
    """Count, the slow way, the examples of each class (column) that each client (row) holds."""

    def count(partition: Partition, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
        return tuple(
            np.array([np.bincount(labels[row], minlength=dataset.num_classes) for row in rows])
            for rows, labels in (
                (partition.train, dataset.train.y),
                (partition.test, dataset.test.y),
            )
        )

    return count


@pytest.fixture(scope="session")
def content() -> bytes:
    return np.random.default_rng(0).integers(0, 4, 300_000).astype(np.uint8).tobytes()


@pytest.fixture(scope="session")
def stored(content) -> bytes:
    return gzip.compress(content, mtime=0)


@pytest.fixture(scope="session")
def file(content, stored) -> GzipFile:
    sha256, md5 = hashlib.sha256(content).hexdigest(), hashlib.md5(stored).hexdigest()
    return GzipFile(name="set.gz", size=len(content), sha256=sha256, md5=md5)


@pytest.fixture
def server(server, stored):
    server.body = stored
    return server
