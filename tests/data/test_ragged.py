from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.data import Ragged
from terrafl.errors import ConfigurationError


@settings(derandomize=True)
@given(st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=8))
def test_rows_come_back_as_they_were_given(rows):
    ragged = Ragged.of(rows)

    assert [row.tolist() for row in ragged] == rows
    assert len(ragged) == len(rows)
    assert ragged.sizes().tolist() == [len(row) for row in rows]


@settings(derandomize=True)
@given(st.lists(st.integers(-1, 4), max_size=20))
def test_each_owner_holds_its_examples_in_rising_order(owners):
    held = Ragged.by_owner(np.array(owners, dtype=np.int64), count=5)

    expected = [[i for i, owner in enumerate(owners) if owner == k] for k in range(5)]
    assert [row.tolist() for row in held] == expected


def test_a_row_is_a_view():
    ragged = Ragged.of([[1, 2], [3]])

    row = ragged[1]

    assert np.shares_memory(row, ragged.indices)


def test_a_negative_row_counts_from_the_end():
    assert Ragged.of([[1, 2], [3]])[-1].tolist() == [3]


def test_a_row_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError):
        Ragged.of([[1]])[1]


def test_a_million_clients_are_two_arrays():
    ragged = Ragged.by_owner(np.arange(2_000_000, dtype=np.int64) % 1_000_000, 1_000_000)

    assert len(ragged) == 1_000_000
    assert ragged.indices.nbytes + ragged.offsets.nbytes < 25_000_000
    assert ragged[999_999].tolist() == [999_999, 1_999_999]


@pytest.mark.parametrize("offsets", [[], [1, 2], [0, 1], [0, 2, 1, 2]])
def test_offsets_that_do_not_fit_are_refused(offsets):
    with pytest.raises(ConfigurationError, match="offsets must be"):
        Ragged(np.arange(2), np.array(offsets, dtype=np.int64))
