"""Populations, contexts and cohorts: a selector's input and output."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import ConfigurationError
from terrafl.records import Cohort, Population

ids = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1)


@given(st.dictionaries(ids, st.integers(1, 2**40), min_size=1))
@settings(derandomize=True, deadline=None)
def test_a_population_keeps_ids_in_string_order_with_their_sizes(sizes):
    population = Population.of(sizes)

    assert population.ids.tolist() == sorted(sizes)
    assert dict(zip(population.ids.tolist(), population.sizes.tolist(), strict=True)) == sizes
    assert len(population) == len(sizes)


@given(st.sets(ids, min_size=1), st.data())
@settings(derandomize=True, deadline=None)
def test_positions_and_names_are_inverse(known, data):
    population = Population.of(dict.fromkeys(known, 1))
    some = data.draw(st.lists(st.sampled_from(sorted(known))))

    assert population.names(population.index(some)) == tuple(some)


@pytest.mark.parametrize("stranger", ["a0", "0", "z", "c1 ", "c", ""])
def test_an_unknown_id_is_named(stranger):
    population = Population.of({"c1": 3, "c2": 4})

    with pytest.raises(ConfigurationError, match="members of the population"):
        population.index(["c1", stranger])


@pytest.mark.parametrize(
    ("names", "sizes", "message"),
    [
        (["b", "a"], [1, 1], "distinct and in string order"),
        (["a", "a"], [1, 1], "distinct and in string order"),
        (["a", "b"], [1], "one per client id"),
        (["a", "b"], [1, 0], "at least 1 example"),
        ([], [], "at least one client"),
    ],
)
def test_a_population_that_cannot_be_meant_is_refused(names, sizes, message):
    with pytest.raises(ConfigurationError, match=message):
        Population(np.array(names, dtype=np.str_), np.array(sizes, dtype=np.int64))


def test_everybody_is_eligible_unless_a_mask_says_otherwise(make_population, make_context):
    population = make_population(4)
    mask = np.array([False, True, False, True])

    assert make_context(population).eligible().tolist() == [0, 1, 2, 3]
    assert make_context(population, available=mask).eligible().tolist() == [1, 3]


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(1, 40))
@settings(derandomize=True, deadline=None)
def test_a_uniform_draw_is_distinct_and_within_reach(make_population, make_context, mask, wanted):
    available = np.array(mask)
    context = make_context(
        make_population(len(mask)), available=available, clients_per_round=wanted
    )

    drawn = context.draw_uniformly()

    assert len(set(drawn.tolist())) == len(drawn) == min(wanted, sum(mask))
    assert available[drawn].all()


def test_a_uniform_draw_does_not_depend_on_how_full_reach_is_written(make_population, make_context):
    population = make_population(40)
    everybody = np.ones(40, dtype=np.bool_)

    without_mask = make_context(population).draw_uniformly()
    with_mask = make_context(population, available=everybody).draw_uniformly()

    assert without_mask.tolist() == with_mask.tolist()


@given(st.lists(ids))
@settings(derandomize=True, deadline=None)
def test_a_cohort_counts_repeated_ids_in_string_order(drawn):
    cohort = Cohort.of(drawn)

    assert list(cohort.clients) == sorted(set(drawn))
    assert [drawn.count(client) for client in cohort.clients] == list(cohort.draws)
    assert len(cohort) == len(set(drawn))
