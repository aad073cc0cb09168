"""Terraform: the clients that train again, and why."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_contexts import a_context

from terrafl.errors import ConfigurationError
from terrafl.records import Cohort, Report
from terrafl.selection.terraform import Terraform, parse_range
from terrafl.selection.uniform import Random


def reports(norms, sizes=None, *, iteration=0):
    """Return reports of clients a, b, c, ... with these norms."""
    sizes = sizes or [10] * len(norms)
    return [
        Report(
            client_id=chr(ord("a") + i),
            round=3,
            iteration=iteration,
            num_examples=size,
            update_norm=norm,
        )
        for i, (norm, size) in enumerate(zip(norms, sizes, strict=True))
    ]


# Eight equal clients: k_Q1 = 2, k_Q3 = 6, and of evenly spaced norms the middle cut is the best.
EIGHT = reports([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])


def test_the_clients_after_the_best_cut_train_again():
    cohort = Terraform(eta=4).refine(EIGHT, a_context())

    assert cohort.clients == ("e", "f", "g", "h")
    assert cohort.draws == (1, 1, 1, 1)


def test_the_cut_is_sought_between_the_quartiles_only():
    # A cut that leaves the far client alone would be better, but lies beyond k_Q3 = 6.
    cohort = Terraform(eta=1).refine(
        reports([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 99.0]), a_context()
    )

    assert cohort.clients == ("f", "g", "h")


def test_a_wider_range_finds_the_cut_beyond_the_quartiles():
    terraform = Terraform(eta=1, search_range=("Q1", 1))

    cohort = terraform.refine(reports([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 99.0]), a_context())

    assert cohort.clients == ("h",)


def test_the_quartiles_are_of_the_data_not_of_the_clients():
    # Client h, the hardest, holds most of the data: both quartiles fall on it.
    cohort = Terraform(eta=1).refine(
        reports([1, 2, 3, 4, 5, 6, 7, 8.0], [1] * 7 + [93]), a_context()
    )

    assert cohort.why["k_q1"] == cohort.why["k_q3"] == 8
    assert cohort.clients == ("h",)


@pytest.mark.parametrize(("eta", "goes_on"), [(3, True), (4, True), (5, False)])
def test_a_hard_set_smaller_than_eta_ends_the_round(eta, goes_on):
    cohort = Terraform(eta=eta).refine(EIGHT, a_context())

    assert bool(cohort) is goes_on


@pytest.mark.parametrize(("iteration", "goes_on"), [(0, True), (1, False), (2, False)])
def test_the_most_iterations_are_never_exceeded(iteration, goes_on):
    terraform = Terraform(eta=1, max_iterations=2)

    heard = reports([1.0, 2.0, 3.0, 4.0, 5.0], iteration=iteration)
    cohort = terraform.refine(heard, a_context(iteration=iteration + 1))

    assert bool(cohort) is goes_on


def test_the_event_of_a_split_says_what_was_cut_where():
    cohort = Terraform(eta=2).refine(reports([5.0, 0.1, 0.3, 4.0], [10, 20, 30, 40]), a_context())

    assert cohort.why == {
        "event": "split",
        "round": 3,
        "iteration": 0,
        "signal": "gradient",
        "clients": [
            {"id": "b", "update_norm": 0.1, "num_examples": 20},
            {"id": "c", "update_norm": 0.3, "num_examples": 30},
            {"id": "d", "update_norm": 4.0, "num_examples": 40},
            {"id": "a", "update_norm": 5.0, "num_examples": 10},
        ],
        "k_q1": 2,
        "k_q3": 3,
        "tau": 2,
        "hard": ["d", "a"],
    }


def test_the_last_split_of_a_round_is_explained_too():
    cohort = Terraform(eta=5).refine(EIGHT, a_context())

    assert cohort.clients == ()
    assert cohort.why["hard"] == ["e", "f", "g", "h"]


def test_an_empty_range_is_named_in_the_event():
    ordinary = Terraform().refine(EIGHT, a_context())
    empty = Terraform(eta=1).refine(reports([1.0, 2.0, 3.0], [1, 98, 1]), a_context())

    assert "empty_range" not in ordinary.why
    assert empty.why["empty_range"] is True
    assert empty.clients == ("c",)


def test_equal_norms_are_ordered_by_id_as_strings():
    alike = [
        Report(client_id=str(i), round=0, iteration=0, num_examples=1, update_norm=1.0)
        for i in range(8, 12)
    ]

    why = Terraform(eta=1).refine(alike, a_context()).why

    assert [client["id"] for client in why["clients"]] == ["10", "11", "8", "9"]


@pytest.mark.parametrize(
    ("signal", "field"),
    [
        ("gradient", "update_norm"),
        ("weights", "weight_norm"),
        ("bias", "bias_norm"),
        ("loss", "loss"),
    ],
)
def test_clients_are_sorted_by_the_signal_that_was_asked_for(signal, field, make_report):
    terraform = Terraform(signal=signal, eta=1)
    heard = [make_report(f"c{i}") for i in range(12)]

    why = terraform.refine(heard, a_context()).why

    expected = sorted(heard, key=lambda report: getattr(report, field))
    assert [client["id"] for client in why["clients"]] == [r.client_id for r in expected]
    assert [client[field] for client in why["clients"]] == [getattr(r, field) for r in expected]
    assert terraform.needs == {field}


@pytest.mark.parametrize("heard", [[], EIGHT[:1]], ids=["nobody", "one client"])
def test_a_round_with_fewer_than_two_reports_is_over(heard):
    assert Terraform(eta=1).refine(heard, a_context()) == Cohort()


@given(order=st.permutations(reports([3.0, 1.0, 2.0, 3.0, 3.0, 0.5, 2.0, 8.0], [*range(1, 9)])))
@settings(derandomize=True, deadline=None)
def test_the_order_of_arrival_does_not_matter(order):
    terraform = Terraform(eta=1)

    assert terraform.refine(order, a_context()) == terraform.refine(
        sorted(order, key=lambda r: r.client_id), a_context()
    )


def test_a_round_shrinks_until_it_ends(talk):
    conversation = talk(Terraform(eta=1), clients_per_round=30)

    cohorts = [cohort for _, _, cohort in conversation.round(0)]

    lengths = [len(cohort) for cohort in cohorts]
    assert lengths[0] == 30
    assert lengths[-1] == 0
    assert all(later < earlier for earlier, later in pairwise(lengths))
    assert all(set(later.clients) <= set(earlier.clients) for earlier, later in pairwise(cohorts))


def test_nothing_is_remembered_from_round_to_round(talk):
    fresh, used = talk(Terraform()), talk(Terraform())
    used.rounds(range(5))

    assert used.selector.state() == {}
    assert used.round(9)[-2:] == fresh.round(9)[-2:]


def test_the_first_cohort_is_the_one_that_random_draws(make_context, make_population):
    population = make_population()

    terraform = Terraform().draw(make_context(population, round=4))
    random = Random().draw(make_context(population, round=4))

    assert terraform.clients == random.clients


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (("Q1", "Q3"), (Fraction(1, 4), Fraction(3, 4))),
        ((0, 1), (Fraction(0), Fraction(1))),
        ((0.1, "Q3"), (Fraction(1, 10), Fraction(3, 4))),
        (("1/3", "2/3"), (Fraction(1, 3), Fraction(2, 3))),
        ((1e-05, Fraction(1, 7)), (Fraction(1, 100_000), Fraction(1, 7))),
    ],
)
def test_a_range_is_read_as_it_is_written(ends, expected):
    assert parse_range(ends) == expected


@pytest.mark.parametrize(
    "ends",
    [
        ("Q3", "Q1"),
        ("Q1", "Q1"),
        (-0.1, 0.5),
        (0.5, 1.1),
        ("Q2", "Q3"),
        ("1/0", 1),
        ("nan", 1),
        (0, float("inf")),
        (False, True),
        (0, None),
        ("0", "1", "1"),
        ("Q1",),
        3,
        (0, "1e-999999999"),  # as a fraction it would fill the memory
        (0, "1e999999999"),
    ],
    ids=str,
)
def test_a_range_that_is_none_is_refused(ends):
    with pytest.raises(ConfigurationError, match="search_range must be two fractions"):
        parse_range(ends)


@pytest.mark.parametrize(
    "settings",
    [
        {"eta": 0},
        {"max_iterations": 0},
        {"signal": "hessian"},
        {"weighting": "size"},
        {"search_range": (1, 0)},
    ],
    ids=str,
)
def test_settings_that_cannot_be_meant_are_refused_by_name(settings):
    (name,) = settings

    with pytest.raises(ConfigurationError, match=f"^{name} must be"):
        Terraform(**settings)
