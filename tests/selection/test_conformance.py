"""Properties that every selector must have."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.records import Population
from terrafl.seeds import stream
from terrafl.selection.catalog import SELECTORS
from terrafl.selection.hbase import HBase
from terrafl.selection.hics import HiCSFL
from terrafl.selection.oort import Oort
from terrafl.selection.power_of_choice import PowerOfChoice
from terrafl.selection.protocol import Selector
from terrafl.selection.report import judge
from terrafl.selection.terraform import Terraform
from terrafl.selection.uniform import Random

CONFIGURATIONS = {
    "random": Random,
    "hbase": HBase,
    "hbase without replacement": lambda: HBase(replace=False),
    "pow-d": PowerOfChoice,
    "pow-d of everybody": lambda: PowerOfChoice(candidates="all"),
    "cpow-d": lambda: PowerOfChoice(variant="cpow-d", candidates=100),
    "rpow-d": lambda: PowerOfChoice(variant="rpow-d", uniform_first_round=True),
    "oort": Oort,
    "oort capped": lambda: Oort(max_participations=1, durations="seeded"),
    "oort measured": lambda: Oort(durations="measured"),
    "oort-repo": lambda: Oort(preset="oort-repo", durations="measured"),
    "oort of fedscale": lambda: Oort(preset="fedscale", durations="seeded"),
    "oort of hics": lambda: Oort(preset="hics"),
    "hics": HiCSFL,
    "hics with few clusters": lambda: HiCSFL(num_clusters=2),
    "hics released": lambda: HiCSFL(compat="released"),
    "terraform": lambda: Terraform(eta=1),
    "terraform by loss": lambda: Terraform(signal="loss", max_iterations=2, weighting="mass"),
}


@pytest.fixture(params=CONFIGURATIONS)
def make(request):
    """Return a maker of equal selectors, one configuration after another."""
    return CONFIGURATIONS[request.param]


def draws_with_replacement(selector):
    if isinstance(selector, HiCSFL):
        return selector.compat == "released"
    return isinstance(selector, HBase) and selector.replace


def leaves_places_empty(selector):
    return isinstance(selector, Oort) and selector.preset == "fedscale"


def as_many_as(wanted, selector, cohorts):
    """Return whether every first cohort has the size that was asked for."""
    sizes = [sum(cohort.draws) for _, iteration, cohort in cohorts if iteration == 0]
    if leaves_places_empty(selector):
        return all(selector.smallest_cohort(wanted) <= size <= wanted for size in sizes)
    return set(sizes) == {wanted}


def half_reach(number, count):
    return stream(9, "reach", round=number).random(count) < 0.5


def test_every_selector_of_the_catalogue_is_here():
    assert {make().name for make in CONFIGURATIONS.values()} == set(SELECTORS)


def test_it_speaks_the_protocol(make):
    selector = make()

    assert isinstance(selector, Selector)
    assert SELECTORS[selector.name] is type(selector)


def test_equal_seeds_give_equal_conversations(make, talk):
    assert talk(make()).rounds() == talk(make()).rounds()


def test_another_seed_gives_another_conversation(make, talk):
    assert talk(make()).rounds() != talk(make(), seed=1).rounds()


def test_the_order_of_arrival_does_not_matter(make, talk):
    def shuffled(reports):
        return [reports[i] for i in stream(3, "arrival").permutation(len(reports))]

    assert talk(make()).rounds() == talk(make(), arrange=shuffled).rounds()


def test_a_round_draws_as_many_as_asked_for_and_then_ends(make, talk):
    cohorts = talk(make(), clients_per_round=9).rounds()

    assert as_many_as(9, make(), cohorts)
    assert all(len(cohort) < 9 for _, iteration, cohort in cohorts if iteration > 0)
    assert [number for number, _, cohort in cohorts if not cohort.clients] == list(range(30))


def test_later_cohorts_come_from_the_one_before(make, talk):
    cohorts = talk(make(), clients_per_round=12).rounds()

    inner = [(a, b) for (_, _, a), (_, iteration, b) in pairwise(cohorts) if iteration > 0]
    assert all(set(after.clients) < set(before.clients) for before, after in inner)


def test_nobody_is_drawn_twice_unless_the_method_says_so(make, talk):
    cohorts = talk(make()).rounds()

    drawn = [count for _, _, cohort in cohorts for count in cohort.draws]
    if not draws_with_replacement(make()):
        assert set(drawn) == {1}
    assert all(list(c.clients) == sorted(set(c.clients)) for _, _, c in cohorts)


def test_only_clients_within_reach_are_drawn(make, talk):
    conversation = talk(make(), available=half_reach)

    for number, _, cohort in conversation.rounds():
        positions = conversation.population.index(cohort.clients)
        assert half_reach(number, len(conversation.population))[positions].all()


@given(mask=st.lists(st.booleans(), min_size=1, max_size=8), wanted=st.integers(1, 10))
@settings(derandomize=True, deadline=None, max_examples=25)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_any_reach_and_any_number_asked_for_are_met(name, talk, make_population, mask, wanted):
    make = CONFIGURATIONS[name]
    conversation = talk(
        make(),
        population=make_population(len(mask)),
        clients_per_round=wanted,
        available=lambda number, count: np.roll(mask, number),
    )

    for _, iteration, cohort in conversation.rounds(range(4)):
        if iteration == 0 and leaves_places_empty(make()):
            assert len(cohort) <= min(wanted, sum(mask))
        elif iteration == 0 and not draws_with_replacement(make()):
            assert len(cohort) == min(wanted, sum(mask))


def test_more_asked_for_than_there_are_draws_everybody(make, talk, make_population):
    cohorts = talk(make(), population=make_population(3), clients_per_round=50).rounds(range(4))

    for _, iteration, cohort in cohorts:
        assert iteration > 0 or cohort.clients == ("c00", "c01", "c02")


def test_a_single_client_is_drawn_every_round(make, talk):
    conversation = talk(make(), population=Population.of({"only": 7}), clients_per_round=1)

    cohorts = conversation.rounds(range(4))

    assert [c.clients for _, iteration, c in cohorts if iteration == 0] == [("only",)] * 4


def test_nobody_within_reach_is_an_empty_cohort(make, talk):
    nobody = talk(make(), available=lambda number, count: np.zeros(count, dtype=np.bool_))

    assert all(len(cohort) == 0 for _, _, cohort in nobody.rounds(range(3)))


def test_a_silent_cohort_ends_the_round_and_not_the_run(make, talk):
    conversation = talk(make(), arrange=lambda reports: [])

    cohorts = conversation.rounds(range(12))

    assert len(cohorts) == 24
    assert all(len(cohort) > 0 for _, iteration, cohort in cohorts if iteration == 0)


def test_its_state_survives_a_restart_between_any_two_calls(make, talk, through_files):
    def restarted(selector):
        fresh = make()
        fresh.restore(through_files(selector.state()))
        return fresh

    undisturbed = talk(make(), available=half_reach)
    disturbed = talk(make(), available=half_reach, swap=restarted)

    assert undisturbed.rounds() == disturbed.rounds()
    one, other = undisturbed.selector.state(), disturbed.selector.state()
    assert list(one) == list(other)
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def test_a_state_once_taken_does_not_change(make, talk):
    conversation = talk(make())
    conversation.rounds(range(10))
    state = conversation.selector.state()
    before = repr(state)

    conversation.rounds(range(10, 20))

    assert repr(state) == before


def test_clients_may_join_and_leave_during_a_run(make, talk, make_population):
    conversation = talk(make(), population=make_population(20), clients_per_round=10)
    conversation.rounds(range(4))
    others = dict.fromkeys([*conversation.population.ids[3:].tolist(), "b9", "c055", "d"], 100)
    conversation.population = Population.of(others)

    later = conversation.rounds(range(4, 10))[-12:]

    assert {number for number, _, _ in later} <= set(range(4, 10))
    assert all(set(cohort.clients) <= set(others) for _, _, cohort in later)
    assert as_many_as(10, make(), later)


def test_the_journal_gets_plain_finite_values(make, talk):
    for _, _, cohort in talk(make(), available=half_reach).rounds():
        text = json.dumps(cohort.why, allow_nan=False)

        assert json.loads(text) == json.loads(json.dumps(cohort.why))
        assert not cohort.why or cohort.why["event"] in {"drawn", "split"}


MALFORMED = {
    "NaN": lambda need: {need: float("nan")},
    "infinity": lambda need: {need: float("inf")},
    "negative": lambda need: {need: -1.0},
    "missing": lambda need: {need: None},
    "text": lambda need: {need: "1.0"},
    "list": lambda need: {need: [0.1, 0.2]},
    "no examples": lambda need: {"num_examples": 0},
    "half an example": lambda need: {"num_examples": 1.5},
    "bool for a size": lambda need: {"num_examples": True},
    "size beyond 64 bits": lambda need: {"num_examples": 2**70},
    "stranger": lambda need: {"client_id": "stranger"},
    "late": lambda need: {"round": -1},
    "another iteration": lambda need: {"iteration": 99},
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_report_is_as_good_as_none(make, talk, make_report, case):
    field = min(make().needs, default="num_examples")

    def spoilt(client, *, round, iteration):
        report = make_report(client, round=round, iteration=iteration)
        return replace(report, **MALFORMED[case](field)) if client < "c20" else report

    def silent(reports):
        return [report for report in reports if report.client_id >= "c20"]

    heard_nonsense = talk(make(), report=spoilt, clients_per_round=10)
    heard_nothing = talk(make(), arrange=silent, clients_per_round=10)

    assert heard_nonsense.rounds(range(7)) == heard_nothing.rounds(range(7))


def test_a_repeated_report_counts_once(make, talk):
    once, twice = talk(make()), talk(make(), arrange=lambda reports: reports * 2)

    assert once.rounds(range(10)) == twice.rounds(range(10))


@pytest.mark.parametrize("extreme", [0.0, 5e-324, 1e-300, 1e300, 1.7e308])
def test_extreme_but_finite_reports_do_no_harm(make, talk, make_report, extreme):
    def shrill(client, *, round, iteration):
        report = make_report(client, round=round, iteration=iteration)
        if client > "c20":
            return report
        names = ("update_norm", "weight_norm", "bias_norm", "loss", "squared_loss", "duration_s")
        numbers = dict.fromkeys(names, extreme)
        signs = np.sign(report.bias_update)
        arrays = {"bias_update": signs * extreme, "weight_update": np.full((5, 3), extreme)}
        size = 1 if extreme < 1 else 2**40
        return replace(report, num_examples=size, **numbers, **arrays)

    conversation = talk(make(), report=shrill, clients_per_round=8)

    cohorts = conversation.rounds([*range(8), *range(25, 30)])

    assert as_many_as(8, make(), cohorts)
    json.dumps([cohort.why for _, _, cohort in cohorts], allow_nan=False)


def test_what_it_needs_is_all_that_it_reads(make, talk, make_report):
    needs = make().needs
    kept = {"client_id", "round", "iteration", "num_examples"} | needs

    def sparing(client, *, round, iteration):
        report = make_report(client, round=round, iteration=iteration)
        return replace(report, **{f: None for f in report.__dataclass_fields__ if f not in kept})

    assert talk(make()).rounds() == talk(make(), report=sparing).rounds()


def test_the_judge_names_what_is_missing(make, make_report):
    for need in make().needs:
        bare = replace(make_report("c01"), **{need: None})

        _, refused = judge([bare], cohort=["c01"], round=0, iteration=0, needs=make().needs)

        assert [r.reason for r in refused] == [f"{need} is missing"]
