from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data import Holdings, Partition, Ragged, Skew
from terrafl.data.partition.partition import numbered


def _partition(rows, **counts):
    return Partition(
        client_ids=numbered(len(rows)),
        train=Ragged.of(rows),
        test=Ragged.of([[]] * len(rows)),
        **counts,
    )


@settings(derandomize=True)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=6),
)
def test_the_distance_is_half_the_sum_of_absolute_differences(held):
    labels = np.array([label for row in held for label in row])
    cuts = np.cumsum([len(row) for row in held])[:-1]

    skew = Skew.of(_partition(np.split(np.arange(len(labels)), cuts)), labels)

    pooled = [np.mean(labels == c) for c in range(4)]
    distances = [
        sum(abs(row.count(c) / len(row) - pooled[c]) for c in range(4)) / 2 for row in held
    ]
    assert skew.mean_distance == pytest.approx(np.mean(distances), abs=1e-12)
    assert skew.mean_classes == pytest.approx(np.mean([len(set(row)) for row in held]))


def test_sizes_are_summed_up():
    skew = Skew.of(_partition([[0], [1, 2], [3, 4, 5], [6, 7, 8, 9]]), np.zeros(10, dtype=np.int64))

    assert (skew.clients, skew.examples) == (4, 10)
    assert (skew.size_min, skew.size_median, skew.size_max) == (1, 2.5, 4)


def test_examples_of_nobody_do_not_count():
    labels = np.array([0, 0, 1, 1, 3])

    skew = Skew.of(_partition([[0, 1], [2, 3]]), labels)

    assert skew.examples == 4
    assert skew.mean_distance == pytest.approx(0.5)


def test_the_report_is_plain_numbers():
    skew = Skew.of(_partition([[0], [1]], redraws=3, repaired=2), np.array([0, 1]))

    plain = skew.to_dict()

    assert json.loads(json.dumps(plain)) == plain
    assert (plain["redraws"], plain["repaired"]) == (3, 2)
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
