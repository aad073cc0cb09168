"""Power-of-choice: the highest losses among a few candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_contexts import a_context

from terrafl.errors import ConfigurationError
from terrafl.records import Population
from terrafl.selection.power_of_choice import PowerOfChoice
from terrafl.selection.uniform import Random


class Asked:
    """Losses that are known beforehand, and a record of who was asked."""

    def __init__(self, losses):
        self.losses, self.questions = losses, []

    def __call__(self, clients, *, sample_size=None):
        self.questions.append((tuple(clients), sample_size))
        return np.array([self.losses[client] for client in clients], dtype=np.float64)


def population_of(names):
    return Population.of(dict.fromkeys(names, 10))


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=4), st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1
    ),
    st.integers(1, 8),
    st.integers(0, 5),
)
@settings(derandomize=True, deadline=None)
def test_the_highest_losses_win_whoever_ties(make_context, losses, wanted, seed):
    context = make_context(
        population_of(losses), clients_per_round=wanted, losses=Asked(losses), seed=seed
    )

    cohort = PowerOfChoice(candidates="all").draw(context)

    ranked = sorted(losses.values(), reverse=True)
    assert sorted((losses[c] for c in cohort.clients), reverse=True) == ranked[:wanted]


@given(
    st.dictionaries(st.text("abcde", min_size=1, max_size=4), st.integers(0, 10**6), min_size=1),
    st.integers(1, 8),
    st.integers(0, 5),
)
@settings(derandomize=True, deadline=None)
def test_without_ties_the_order_is_that_of_the_losses_alone(make_context, losses, wanted, seed):
    losses = {client: loss + i / 100 for i, (client, loss) in enumerate(losses.items())}
    context = make_context(
        population_of(losses), clients_per_round=wanted, losses=Asked(losses), seed=seed
    )

    cohort = PowerOfChoice(candidates="all").draw(context)

    ranked = sorted(losses, key=losses.__getitem__, reverse=True)
    assert cohort.clients == tuple(sorted(ranked[:wanted]))
    assert [row["id"] for row in cohort.why["highest"]] == ranked[: 2 * wanted]


def shares_of_places(make_context, selector, population, wanted, losses=None):
    counts, seeds = np.zeros(len(population)), 2000
    for seed in range(seeds):
        context = make_context(population, clients_per_round=wanted, seed=seed, losses=losses)
        counts[population.index(selector.draw(context).clients)] += 1
    return counts / seeds


def test_equal_losses_are_ordered_at_random(make_context):
    losses = Asked({"a": 0.5, "b": 0.5, "c": 0.9, "d": 0.5, "e": 0.1})

    got = shares_of_places(
        make_context, PowerOfChoice(candidates="all"), population_of("abcde"), 3, losses
    )

    # Two places are left for a, b and d. 2,000 draws: the standard deviation is 0.0105.
    assert got == pytest.approx([2 / 3, 2 / 3, 1, 2 / 3, 0], abs=5 * 0.0105)


def test_rpow_d_gives_clients_never_picked_equal_chances(make_context, make_report):
    population = population_of("abcdefgh")
    selector = PowerOfChoice(variant="rpow-d", candidates="all")
    selector.refine([make_report("c", loss=9.0), make_report("f", loss=1.0)], a_context())

    got = shares_of_places(make_context, selector, population, 3)

    # 2,000 draws: the standard deviation is 0.0112.
    assert got == pytest.approx([0 if c in "cf" else 3 / 6 for c in "abcdefgh"], abs=5 * 0.0112)


def test_only_the_candidates_are_asked_and_only_they_are_taken(make_population, make_context):
    population = make_population(40)
    asked = Asked(dict.fromkeys(population.ids.tolist(), 1.0))

    cohort = PowerOfChoice(candidates=8).draw(make_context(population, losses=asked))

    ((candidates, sample_size),) = asked.questions
    assert len(set(candidates)) == 8
    assert candidates == tuple(sorted(candidates))
    assert sample_size is None
    assert set(cohort.clients) <= set(candidates)
    assert len(cohort) == 5


def test_twice_the_cohort_are_candidates_unless_told_otherwise(make_population, make_context):
    population = make_population(40)
    asked = Asked(dict.fromkeys(population.ids.tolist(), 1.0))

    PowerOfChoice().draw(make_context(population, losses=asked))
    PowerOfChoice().draw(make_context(population, losses=asked, clients_per_round=30))

    assert [len(candidates) for candidates, _ in asked.questions] == [10, 40]


def test_candidates_are_drawn_in_proportion_to_size(make_context):
    population = Population.of({"a": 10, "b": 20, "c": 30, "d": 40})
    selector, rounds, counts = PowerOfChoice(candidates=1), 3000, np.zeros(4)

    for number in range(rounds):
        context = make_context(population, round=number, clients_per_round=1)
        counts[population.index(selector.draw(context).clients)] += 1

    # 3,000 rounds: the standard deviation is at most 0.0091.
    assert counts / rounds == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=5 * 0.0091)


def test_cpow_d_asks_for_one_mini_batch(make_population, make_context):
    population = make_population(10)
    asked = Asked(dict.fromkeys(population.ids.tolist(), 1.0))

    PowerOfChoice(variant="cpow-d", sample_size=16).draw(make_context(population, losses=asked))

    assert [sample_size for _, sample_size in asked.questions] == [16]


def test_rpow_d_asks_nobody_and_prefers_who_was_never_picked(make_context, make_report):
    population = population_of("abcde")
    selector = PowerOfChoice(variant="rpow-d", candidates="all")
    asked = Asked({})
    drawn, reported = [], {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.7, "e": 0.3}
    for number in range(4):
        context = make_context(population, round=number, clients_per_round=2, losses=asked)
        cohort = selector.draw(context)
        drawn.append(cohort.clients)
        selector.refine(
            [make_report(c, round=number, loss=reported[c]) for c in cohort.clients], a_context()
        )

    # Never picked first, in any order; then the last one and the highest loss reported.
    (last,) = set("abcde") - {*drawn[0], *drawn[1]}
    assert len({*drawn[0], *drawn[1]}) == 4
    assert set(drawn[2]) == {last, max({*"abcde"} - {last}, key=reported.get)}
    assert drawn[3] == ("b", "d")
    assert asked.questions == []


def test_rpow_d_takes_a_client_whose_report_was_refused_as_never_picked(make_context, make_report):
    population = population_of("abc")
    selector = PowerOfChoice(variant="rpow-d", candidates="all")
    first = selector.draw(make_context(population, clients_per_round=2)).clients
    selector.refine([make_report(first[0], loss=5.0)], a_context())

    second = selector.draw(make_context(population, round=1, clients_per_round=2)).clients

    assert second == tuple(sorted({*"abc"} - {first[0]}))


def test_a_candidate_without_a_finite_loss_is_never_taken(make_context):
    losses = {"a": np.nan, "b": 0.2, "c": np.inf, "d": 0.1}
    context = make_context(population_of("abcd"), clients_per_round=3, losses=Asked(losses))

    cohort = PowerOfChoice(candidates="all").draw(context)

    assert cohort.clients == ("b", "d")
    assert cohort.why["unanswered"] == 2


def test_the_first_round_can_be_uniform(make_population, make_context):
    population = make_population(40)
    selector = PowerOfChoice(uniform_first_round=True)
    asked = Asked(dict.fromkeys(population.ids.tolist(), 1.0))

    first = selector.draw(make_context(population, losses=asked))
    assert first.clients == Random().draw(make_context(population)).clients
    assert asked.questions == []

    selector.draw(make_context(population, round=1, losses=asked))
    assert len(asked.questions) == 1


def test_nobody_is_asked_when_nobody_is_within_reach(make_population, make_context):
    asked = Asked({})
    nobody = np.zeros(4, dtype=np.bool_)

    cohort = PowerOfChoice().draw(make_context(make_population(4), available=nobody, losses=asked))

    assert len(cohort) == 0
    assert asked.questions == []


def test_fewer_candidates_than_places_are_refused(make_population, make_context):
    with pytest.raises(ConfigurationError, match="at least the 5 clients per round; got 4"):
        PowerOfChoice(candidates=4).draw(make_context(make_population(40)))


@pytest.mark.parametrize(
    "setting",
    [
        {"candidates": 0},
        {"candidates": "many"},
        {"candidates": True},
        {"candidates": 2.5},
        {"variant": "pow"},
        {"sample_size": 0},
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_name(setting):
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        PowerOfChoice(**setting)


def test_the_journal_shows_the_candidates_around_the_cut(make_context):
    losses = {"a": 0.1, "b": 0.4, "c": 0.3, "d": 0.2, "e": 0.0}
    context = make_context(population_of("abcde"), clients_per_round=2, losses=Asked(losses))

    why = PowerOfChoice(candidates="all").draw(context).why

    assert why["num_candidates"] == 5
    assert [(row["id"], row["loss"]) for row in why["highest"]] == [
        ("b", 0.4),
        ("c", 0.3),
        ("d", 0.2),
        ("a", 0.1),
    ]


def test_only_rpow_d_needs_a_loss_in_the_report():
    needs = {v: PowerOfChoice(variant=v).needs for v in ("pow-d", "cpow-d", "rpow-d")}

    assert needs == {"pow-d": frozenset(), "cpow-d": frozenset(), "rpow-d": frozenset({"loss"})}
    assert PowerOfChoice.averaging == "plain"
