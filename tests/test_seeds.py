"""Keyed random streams: a number depends on what it is for, and on nothing else."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.seeds import stream, torch_stream

KEY = {"seed": 3, "purpose": "batches", "round": 2, "iteration": 1, "client": "17"}
OTHERS = [{"seed": 4}, {"purpose": "loss"}, {"round": 3}, {"iteration": 2}, {"client": "18"}]


def test_one_key_gives_one_stream():
    assert np.array_equal(stream(**KEY).random(9), stream(**KEY).random(9))


@pytest.mark.parametrize("change", OTHERS, ids=str)
def test_any_other_key_gives_another_stream(change):
    assert not (stream(**KEY).random(9) == stream(**KEY | change).random(9)).any()


keys = st.tuples(
    st.integers(0, 2**70),
    st.text(max_size=5),
    st.integers(0, 10**6),
    st.integers(0, 50),
    st.text(max_size=5),
)


@given(one=keys, other=keys)
@settings(derandomize=True, deadline=None)
def test_no_two_keys_share_a_stream(one, other):
    def draw(seed, purpose, round, iteration, client):
        generator = stream(seed, purpose, round=round, iteration=iteration, client=client)
        return generator.integers(2**63, size=4).tolist()

    assert (draw(*one) == draw(*other)) is (one == other)


def test_numbers_that_run_together_do_not_collide():
    # Round 1, iteration 23 and round 12, iteration 3 hold the same digits.
    first, second = stream(0, "x", round=1, iteration=23), stream(0, "x", round=12, iteration=3)

    assert not np.array_equal(first.random(4), second.random(4))


def test_streams_of_neighbouring_clients_are_not_alike():
    drawn = np.array([stream(0, "x", client=str(k)).random(500) for k in range(20)])

    correlations = np.corrcoef(drawn)[np.triu_indices(20, k=1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(500)
    assert drawn.mean() == pytest.approx(0.5, abs=4.5 * np.sqrt(1 / 12 / drawn.size))


def test_a_stream_is_the_same_in_every_version():
    # Seeds are promises: a run of last year must come out the same today.
    raw = stream(0, "selection", round=1).bit_generator.random_raw(3)

    digest = hashlib.sha256(b"selection\n1\n0\n").digest()
    words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    sequence = np.random.SeedSequence(0, spawn_key=words)
    assert raw.tolist() == np.random.Philox(sequence).random_raw(3).tolist()


def test_drawing_leaves_the_generators_of_numpy_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - looked at, not used

    stream(0, "x").random()

    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_one_key_gives_torch_one_stream():
    def draw(**key):
        with torch_stream(**key):
            return torch.rand(4)

    assert torch.equal(draw(**KEY), draw(**KEY))
    assert not torch.equal(draw(**KEY), draw(**KEY | {"client": "18"}))


def test_the_generator_of_torch_is_given_back_as_it_was():
    before = torch.get_rng_state()

    with torch_stream(**KEY):
        torch.rand(4)

    assert torch.equal(torch.get_rng_state(), before)


def test_it_is_given_back_after_an_error_too():
    before = torch.get_rng_state()

    with pytest.raises(ZeroDivisionError), torch_stream(**KEY):
        raise ZeroDivisionError

    assert torch.equal(torch.get_rng_state(), before)
