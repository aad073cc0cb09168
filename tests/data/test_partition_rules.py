"""What holds for every partitioner and every partition."""

from __future__ import annotations

import numpy as np
import pytest

from terrafl.data import (
    PARTITIONERS,
    AlphaGroups,
    Iid,
    LabelDirichlet,
    Partition,
    Partitioner,
    Ragged,
    Shards,
)
from terrafl.data.partition.partition import numbered
from terrafl.errors import ConfigurationError, DataError
from terrafl.settings import named, to_plain_named

RANDOM = [
    AlphaGroups(20, (0.01, 1.0)),
    Iid(20),
    Shards(20),
    LabelDirichlet(20, 0.1),
    LabelDirichlet(20, (0.01, 10.0), "lognormal", 0.5),
]
by_name = pytest.mark.parametrize("partitioner", RANDOM, ids=lambda p: p.name)


@by_name
def test_it_is_a_partitioner(partitioner):
    assert isinstance(partitioner, Partitioner)


@by_name
def test_each_example_has_exactly_one_owner(partitioner, digits_like, assert_dealt):
    partition = partitioner.partition(digits_like, np.random.default_rng(0))

    assert_dealt(partition, digits_like)


@by_name
def test_one_seed_gives_one_partition(partitioner, digits_like):
    first, second, other = (
        partitioner.partition(digits_like, np.random.default_rng(seed)) for seed in (3, 3, 4)
    )

    for one, two in ((first.train, second.train), (first.test, second.test)):
        assert np.array_equal(one.indices, two.indices)
        assert np.array_equal(one.offsets, two.offsets)
    assert not np.array_equal(first.train.indices, other.train.indices)


@by_name
def test_more_clients_than_examples_is_an_error(partitioner, of_labels):
    dataset = of_labels([0, 1, 0], [1])

    with pytest.raises(DataError, match="Lower the number of clients"):
        partitioner.partition(dataset, np.random.default_rng(0))


@by_name
def test_no_test_examples_are_no_obstacle(partitioner, of_labels):
    dataset = of_labels(np.arange(100) % 4, [])

    partition = partitioner.partition(dataset, np.random.default_rng(0))

    assert partition.test.sizes().tolist() == [0] * 20


@by_name
def test_as_many_clients_as_examples_get_one_each(partitioner, of_labels):
    one_each = Shards(20, 1) if isinstance(partitioner, Shards) else partitioner
    dataset = of_labels(np.arange(20) % 4, np.arange(8) % 4)

    partition = one_each.partition(dataset, np.random.default_rng(0))

    assert partition.train.sizes().tolist() == [1] * 20


@by_name
def test_a_partitioner_survives_the_way_through_a_configuration_file(partitioner):
    plain = to_plain_named(partitioner)

    assert named(PARTITIONERS, plain, "partition") == partitioner


@pytest.mark.parametrize("name", PARTITIONERS)
def test_the_catalogue_names_partitioners_as_they_name_themselves(name):
    cls = PARTITIONERS[name]

    assert cls.name == name


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Iid(0), "clients must be at least 1; got 0"),
        (lambda: Shards(5, 0), "shards_per_client must be at least 1; got 0"),
        (lambda: AlphaGroups(0, (1.0,)), "clients must be at least 1"),
        (lambda: AlphaGroups(5, ()), "alphas must be one number or more"),
        (lambda: AlphaGroups(2, (1.0,) * 3), "alphas must be one number or more, at most one per"),
        (lambda: AlphaGroups(5, (0.1, 0.0)), "alphas must be at least 1e-12"),
        (lambda: AlphaGroups(5, (float("nan"),)), "alphas must be at least 1e-12"),
        (lambda: LabelDirichlet(5, float("inf")), "alpha must be at least 1e-12 and finite"),
        (lambda: LabelDirichlet(5, 1.0, "even"), "sizes must be equal or lognormal"),
        (lambda: LabelDirichlet(5, 1.0, "lognormal", -1.0), "size_sigma must be 0 or more"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(build, message):
    with pytest.raises(ConfigurationError, match=message):
        build()


@pytest.mark.parametrize("count", [1, 2, 10, 11, 50, 100, 101])
def test_synthetic_ids_sort_as_numbers(count):
    ids = numbered(count).tolist()

    assert ids == sorted(ids)
    assert [int(client) for client in ids] == list(range(count))
    assert len({len(client) for client in ids}) == 1


def test_fifty_clients_are_named_00_to_49():
    ids = numbered(50).tolist()

    assert (ids[0], ids[-1]) == ("00", "49")


@pytest.mark.parametrize(
    ("ids", "train", "message"),
    [
        (["a"], [[0], [1]], "one id, train and test per client"),
        (["b", "a"], [[0], [1]], "distinct and in string order"),
        (["a", "a"], [[0], [1]], "distinct and in string order"),
        (["a", "b"], [[0], []], "1 training example or more"),
    ],
)
def test_a_partition_that_cannot_be_one_is_refused(ids, train, message):
    with pytest.raises(ConfigurationError, match=message):
        Partition(client_ids=np.array(ids), train=Ragged.of(train), test=Ragged.of([[], []]))
