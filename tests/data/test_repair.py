from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from terrafl.data.partition.balanced import repair, shortage

tables = hnp.arrays(
    np.int64,
    st.tuples(st.integers(1, 6), st.integers(1, 4)),
    elements=st.integers(0, 12),
)


@settings(derandomize=True)
@given(tables, st.integers(0, 6))
def test_afterwards_nobody_lacks_anything_and_no_class_has_changed(counts, least):
    assume(counts.sum() >= least * len(counts))

    repaired, moved = repair(counts, least, np.ones_like(counts))

    assert repaired.sum(axis=1).min() >= least
    assert repaired.sum(axis=0).tolist() == counts.sum(axis=0).tolist()
    assert (repaired >= 0).all()
    assert moved == shortage(counts, least) == np.maximum(repaired - counts, 0).sum()


def test_what_needs_no_repair_is_left_alone():
    counts = np.array([[2, 0], [1, 1]])

    repaired, moved = repair(counts, 2, np.ones_like(counts))

    assert (repaired.tolist(), moved) == (counts.tolist(), 0)


def test_the_largest_pile_gives():
    counts = np.array([[5, 4], [8, 0], [0, 0]])

    repaired, _ = repair(counts, 2, np.ones_like(counts))

    assert repaired.tolist() == [[5, 4], [6, 0], [2, 0]]


def test_a_preferred_class_goes_before_a_larger_pile():
    counts = np.array([[9, 0], [1, 3], [0, 0]])
    preference = np.array([[1, 1], [1, 1], [0, 7]])

    repaired, _ = repair(counts, 2, preference)

    assert repaired.tolist() == [[9, 0], [1, 1], [0, 2]]


def test_a_client_whose_preferred_classes_are_gone_takes_another():
    counts = np.array([[9, 0], [0, 0]])
    preference = np.array([[1, 1], [0, 7]])

    repaired, _ = repair(counts, 2, preference)

    assert repaired.tolist() == [[7, 0], [2, 0]]
