"""The columns in which selectors store values of clients."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import ConfigurationError
from terrafl.records import Population
from terrafl.selection.memory import ClientMemory

ids = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1)


def population_of(names):
    return Population.of(dict.fromkeys(names, 1))


@given(st.lists(st.tuples(st.sets(ids, min_size=1), st.data()), max_size=4))
@settings(derandomize=True, deadline=None)
def test_a_memory_answers_like_a_dictionary_per_client(through_files, steps):
    memory, expected, count = ClientMemory({"a": np.nan, "b": 7.0}), {}, 0.0
    for names, data in steps:
        memory.align(population_of(names))
        expected = {k: v for k, v in expected.items() if k in names}
        heard = data.draw(st.lists(st.sampled_from(sorted(names)), unique=True))
        for client in heard:
            expected[client] = count = count + 1
        values = np.array([expected[client] for client in heard], dtype=np.float64)
        memory.remember(heard, {"a": values, "b": -values})

        assert memory["a"].tolist() == pytest.approx(
            [expected.get(k, np.nan) for k in sorted(names)], nan_ok=True
        )
        assert memory["b"].tolist() == [-expected.get(k, -7.0) for k in sorted(names)]
        assert memory.known().tolist() == [k in expected for k in sorted(names)]

        copy = ClientMemory({"a": np.nan, "b": 7.0})
        copy.restore(through_files(memory.state()))
        copy.align(population_of(names))

        assert np.array_equal(copy["a"], memory["a"], equal_nan=True)
        assert copy["b"].tolist() == memory["b"].tolist()


def test_aligning_with_the_same_population_moves_nothing():
    population = population_of(["a", "b"])
    memory = ClientMemory({"x": 0.0})
    memory.align(population)
    column = memory["x"]

    memory.align(population)

    assert memory["x"] is column


def test_clients_join_a_restored_memory_before_it_sees_a_population():
    memory = ClientMemory({"x": 0.0})
    memory.remember(["b"], {"x": np.array([2.0])})
    restored = ClientMemory({"x": 0.0})
    restored.restore(memory.state())

    restored.remember(["a", "c"], {"x": np.array([1.0, 3.0])})
    restored.align(population_of(["a", "b", "c", "d"]))

    assert restored["x"].tolist() == [1.0, 2.0, 3.0, 0.0]


def test_recalling_gives_the_default_for_a_client_not_heard_of():
    memory = ClientMemory({"x": -1.0})
    memory.remember(["b"], {"x": np.array([2.0])})

    assert memory.recall("x", ["c", "b", "a"]).tolist() == [-1.0, 2.0, -1.0]


def test_vectors_follow_their_clients(through_files):
    memory = ClientMemory({"x": np.nan}, vectors=("v",))
    memory.align(population_of(["b", "c"]))
    memory.remember(["c"], {"x": np.array([1.0]), "v": np.array([[1.0, 2.0, 3.0]])})
    restored = ClientMemory({"x": np.nan}, vectors=("v",))

    restored.restore(through_files(memory.state()))
    restored.align(population_of(["a", "b", "c"]))

    assert restored["v"].tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 3]]
    assert restored.known().tolist() == [False, False, True]


def test_a_state_does_not_change_when_more_is_learnt():
    memory = ClientMemory({"x": 0.0})
    memory.remember(["a"], {"x": np.array([1.0])})
    state = memory.state()

    memory.remember(["a"], {"x": np.array([2.0])})

    assert state["x"].tolist() == [1.0]


def test_a_state_grows_with_the_clients_heard_of_not_with_the_population():
    memory = ClientMemory({"x": 0.0})
    memory.align(population_of([f"{i:05d}" for i in range(10_000)]))
    memory.remember(["00042"], {"x": np.array([1.0])})

    state = memory.state()

    assert sum(array.nbytes for array in state.values()) < 50


@pytest.mark.parametrize("awkward", ["a\nb", '"', "é\u2028", "[]", " "])
def test_any_id_survives_a_restart(through_files, awkward):
    memory = ClientMemory({"x": 0.0})
    memory.remember([awkward, "zzzz"], {"x": np.array([1.0, 2.0])})
    restored = ClientMemory({"x": 0.0})

    restored.restore(through_files(memory.state()))

    assert restored.recall("x", [awkward, "zzzz"]).tolist() == [1.0, 2.0]


def test_a_state_of_another_selector_is_refused():
    memory = ClientMemory({"x": 0.0})

    with pytest.raises(ConfigurationError, match="must hold an array 'x'"):
        memory.restore(ClientMemory({"y": 0.0}).state())
