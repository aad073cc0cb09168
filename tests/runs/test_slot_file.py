"""Vectors per client in one file: what a checkpoint names is never overwritten."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import RunFolderError
from terrafl.runs.slot_file import SlotFile

SIZE = 3


def vectors(value):
    return {"a": np.full(SIZE, value, np.float32), "b": np.full(SIZE, -value, np.float32)}


def values(store, clients):
    return {client: float(store.get(client)["a"][0]) for client in clients}


def test_a_client_without_vectors_has_zeros():
    store = SlotFile(None, SIZE, ["a", "b"])

    assert store.get("x")["b"].tolist() == [0.0] * SIZE
    assert len(store) == 0


def test_what_is_returned_is_a_copy():
    store = SlotFile(None, SIZE, ["a", "b"])
    store.put("x", vectors(1.0))

    store.get("x")["a"][:] = 9.0

    assert store.get("x")["a"].tolist() == [1.0] * SIZE


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcde"), st.integers(1, 100)),
        st.tuples(st.just("checkpoint")),
        st.tuples(st.just("crash"), st.integers(0, 1)),
    ),
    max_size=40,
)


@given(steps=steps)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_either_kept_checkpoint_can_be_restored_at_any_time(steps, tmp_path_factory):
    path = tmp_path_factory.mktemp("slots") / "clients.f32"
    store, now = SlotFile(path, SIZE, ["a", "b"]), {}
    kept = []  # the newest two checkpoints: their state and what must come back
    for step in steps:
        if step[0] == "put":
            store.put(step[1], vectors(float(step[2])))
            now[step[1]] = float(step[2])
        elif step[0] == "checkpoint":
            kept = [*kept, (store.state(), dict(now))][-2:]
        elif kept:
            if step[1] == 1 and len(kept) == 2:  # the newest is damaged
                kept.pop()
            state, now = kept[-1][0], dict(kept[-1][1])
            store = SlotFile(path, SIZE, ["a", "b"])
            store.restore(state)
        assert values(store, now) == now
        for state, then in kept:
            other = SlotFile(path, SIZE, ["a", "b"])
            other.restore(state)
            assert values(other, then) == then


def test_the_file_grows_with_the_clients_that_took_part(tmp_path):
    store = SlotFile(tmp_path / "clients.f32", SIZE, ["a", "b"])
    for number in range(40):
        store.put(str(number), vectors(float(number)))

    assert values(store, map(str, range(40))) == {str(i): float(i) for i in range(40)}
    assert (tmp_path / "clients.f32").stat().st_size < 4 * 2 * SIZE * 64


def test_a_file_that_was_cut_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "clients.f32"
    store = SlotFile(path, SIZE, ["a", "b"])
    store.put("x", vectors(1.0))
    state = store.state()
    path.write_bytes(b"")

    with pytest.raises(RunFolderError, match=r"clients\.f32 must hold the client state"):
        SlotFile(path, SIZE, ["a", "b"]).restore(state)
