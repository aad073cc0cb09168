from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data import Holdings, Partition, Ragged
from terrafl.data.partition.partition import numbered


def _partition(rows):
    empty = Ragged.of([[]] * len(rows))
    return Partition(client_ids=numbered(len(rows)), train=Ragged.of(rows), test=empty)


@settings(derandomize=True)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=6),
)
def test_the_distance_is_half_the_sum_of_absolute_differences(held):
    labels = np.array([label for row in held for label in row])
    cuts = np.cumsum([len(row) for row in held])[:-1]

    partition = _partition(np.split(np.arange(len(labels)), cuts))
    summary = Holdings.of(partition, labels).summary()

    pooled = [np.mean(labels == c) for c in range(4)]
    distances = [
        sum(abs(row.count(c) / len(row) - pooled[c]) for c in range(4)) / 2 for row in held
    ]
    assert summary["mean_distance"] == pytest.approx(np.mean(distances), abs=1e-12)
    assert summary["mean_classes"] == pytest.approx(np.mean([len(set(row)) for row in held]))


def test_sizes_are_summed_up():
    partition = _partition([[0], [1, 2], [3, 4, 5], [6, 7, 8, 9]])
    summary = Holdings.of(partition, np.zeros(10, dtype=np.int64)).summary()

    assert (summary["clients"], summary["examples"]) == (4, 10)
    assert [summary[f"size_{what}"] for what in ("min", "median", "max")] == [1, 2.5, 4]


def test_examples_of_nobody_do_not_count():
    labels = np.array([0, 0, 1, 1, 3])

    summary = Holdings.of(_partition([[0, 1], [2, 3]]), labels).summary()

    assert summary["examples"] == 4
    assert summary["mean_distance"] == pytest.approx(0.5)


def test_the_report_is_plain_numbers():
    plain = Holdings.of(_partition([[0], [1]]), np.array([0, 1])).summary()

    assert json.loads(json.dumps(plain)) == plain
    assert all(type(value) in (int, float) for value in plain.values())


@settings(derandomize=True)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=6),
)
def test_every_client_has_its_size_distance_and_main_label(held):
    labels = np.array([label for row in held for label in row])
    cuts = np.cumsum([len(row) for row in held])[:-1]

    holdings = Holdings.of(_partition(np.split(np.arange(len(labels)), cuts)), labels)

    pooled = [np.mean(labels == c) for c in range(4)]
    for k, row in enumerate(held):
        distance = sum(abs(row.count(c) / len(row) - pooled[c]) for c in range(4)) / 2
        assert holdings.distances[k] == pytest.approx(distance, abs=1e-12)
        assert holdings.labels[k] == max(sorted(set(row)), key=row.count)
        assert (holdings.sizes[k], holdings.num_held[k]) == (len(row), len(set(row)))


def test_holdings_are_plain_lists():
    plain = Holdings.of(_partition([[0], [1, 2]]), np.array([0, 1, 1])).to_dict()

    assert plain == {"sizes": [1, 2], "distances": [0.6667, 0.3333], "labels": [0, 1]}
    assert json.loads(json.dumps(plain)) == plain
