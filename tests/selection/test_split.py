"""The split of Algorithm 1 against a slow, exact oracle in rational arithmetic."""

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import ConfigurationError
from terrafl.selection.candidate_splits import candidate_splits
from terrafl.selection.splitting import Q1, Q3, range_ends, split

RANGES = [
    (Q1, Q3),
    (Fraction(0), Fraction(1)),
    (Fraction(0), Q3),
    (Q1, Fraction(1)),
    (Q3, Fraction(1)),
]
WEIGHTINGS = ["count", "mass"]


def whole(norm):
    """Return a float as an integer, in units of the smallest float: exact and fast to add."""
    return int(Fraction(norm) * 2**1074)


def variance(norms, sizes):
    """Return the variance of integers, $(1/S) sum n (u - A/S)^2$, as one fraction."""
    mass, moment = sum(sizes), sum(n * u for u, n in zip(norms, sizes, strict=True))
    spread = sum(n * (mass * u - moment) ** 2 for u, n in zip(norms, sizes, strict=True))
    return Fraction(spread, mass**3)


def intra_split_variance(norms, sizes, tau, weighting):
    shares = {
        "count": (Fraction(tau, len(norms)), Fraction(len(norms) - tau, len(norms))),
        "mass": (Fraction(sum(sizes[:tau]), sum(sizes)), Fraction(sum(sizes[tau:]), sum(sizes))),
    }[weighting]
    easy, hard = variance(norms[:tau], sizes[:tau]), variance(norms[tau:], sizes[tau:])
    return shares[0] * easy + shares[1] * hard


def position(sizes, fraction):
    """Return the first position, counted from 1, at which the running sum reaches a fraction."""
    return next(k for k in range(1, len(sizes) + 1) if sum(sizes[:k]) >= fraction * sum(sizes))


def sorted_clients(norms, sizes):
    order = sorted(range(len(norms)), key=lambda i: (norms[i], i))
    return order, [whole(norms[i]) for i in order], [sizes[i] for i in order]


def oracle(norms, sizes, search_range, weighting):
    order, norms, sizes = sorted_clients(norms, sizes)
    first, end = (position(sizes, fraction) for fraction in search_range)
    if first >= end:
        return order, first, end, min(first, len(norms) - 1), True
    taus = range(first, end)
    tau = min(taus, key=lambda t: (intra_split_variance(norms, sizes, t, weighting), t))
    return order, first, end, tau, False


def answer(norms, sizes, search_range=(Q1, Q3), weighting="count"):
    cut = split(
        np.array(norms, dtype=np.float64),
        np.array(sizes, dtype=np.int64),
        search_range=search_range,
        weighting=weighting,
    )
    return cut.order.tolist(), cut.first, cut.end, cut.tau, cut.empty_range


# Norms that differ little, or span many orders of magnitude.
KINDS = {
    "ordinary": lambda g, n: g.gamma(2.0, size=n),
    "from 1e-12 to 1e12": lambda g, n: 10.0 ** g.uniform(-12, 12, size=n),
    "nearly equal": lambda g, n: 1.0 + 1e-13 * g.integers(0, 50, size=n),
    "last bits": lambda g, n: 1.0 + np.spacing(1.0) * g.integers(0, 8, size=n),
    "many ties": lambda g, n: g.choice([0.0, 1.0, 1.5, 7.0], size=n),
    "all zero": lambda g, n: np.zeros(n),
    "subnormal": lambda g, n: 5e-324 * g.integers(0, 1000, size=n),
    "huge": lambda g, n: 1e300 * g.uniform(0.1, 100.0, size=n),
    "from nothing to huge": lambda g, n: g.choice([0.0, 5e-324, 1e-200, 1.0, 1e300], size=n),
    "one far away": lambda g, n: np.append(g.uniform(1, 1 + 1e-9, size=n - 1), 1e12),
    "one differs": lambda g, n: np.append(np.full(n - 1, 3.0), np.nextafter(3.0, 4.0)),
    "large and tiny differences": lambda g, n: 1e8 + np.spacing(1e8) * g.integers(0, 9, size=n),
    "two tight clusters": lambda g, n: g.integers(1, 3, size=n) + 1e-12 * g.random(n),
    "equally spaced": lambda g, n: g.permutation(n).astype(np.float64),
}

SIZES = {
    "up to 2000": lambda g, n: g.integers(1, 2000, size=n),
    "equal": lambda g, n: np.full(n, 600),
    "up to 2^40": lambda g, n: g.integers(1, 2**40, size=n, endpoint=True),
    "1 or 2^40": lambda g, n: g.choice([1, 2**40], size=n),
}


def a_cohort(kind, num_clients, seed, sizes="up to 2000"):
    generator = np.random.default_rng(seed)
    of_clients = SIZES[sizes](generator, num_clients).tolist()
    return KINDS[kind](generator, num_clients).tolist(), of_clients


@st.composite
def fractions(draw):
    denominator = draw(st.integers(2, 40))
    low = draw(st.integers(0, denominator - 1))
    return Fraction(low, denominator), Fraction(
        draw(st.integers(low + 1, denominator)), denominator
    )


magnitudes = st.floats(min_value=0, max_value=1e300, allow_nan=False, allow_infinity=False)
small_cohorts = st.lists(st.tuples(magnitudes, st.integers(1, 2**40)), min_size=1, max_size=12)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@given(cohort=small_cohorts, search_range=st.sampled_from(RANGES) | fractions())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_the_split_of_any_small_cohort_is_the_exact_one(weighting, cohort, search_range):
    norms, sizes = (list(column) for column in zip(*cohort, strict=True))

    assert answer(norms, sizes, search_range, weighting) == oracle(
        norms, sizes, search_range, weighting
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("search_range", RANGES, ids=str)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_split_of_a_hard_cohort_is_the_exact_one(kind, search_range, weighting):
    norms, sizes = a_cohort(kind, 25, seed=7)

    assert answer(norms, sizes, search_range, weighting) == oracle(
        norms, sizes, search_range, weighting
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize(("num_clients", "seed"), [(130, 1), (300, 2)])
def test_the_split_of_a_large_cohort_is_the_exact_one(kind, weighting, num_clients, seed):
    norms, sizes = a_cohort(kind, num_clients, seed)

    assert answer(norms, sizes, weighting=weighting) == oracle(norms, sizes, (Q1, Q3), weighting)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("of_clients", SIZES)
def test_sizes_however_unequal_are_weighed_exactly(kind, weighting, of_clients):
    for seed in range(5):
        norms, sizes = a_cohort(kind, 90, seed, of_clients)
        expected = oracle(norms, sizes, (Q1, Q3), weighting)
        assert answer(norms, sizes, weighting=weighting) == expected


# A few units in the last place apart: the variances nearly tie.
near_ties = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([1, 2, 3, 2**40 - 1, 2**40])),
    min_size=2,
    max_size=30,
)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@given(cohort=near_ties, base=st.sampled_from([0.0, 5e-324, 1e-300, 1.0, 1e8, 1e300]))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_the_split_of_nearly_equal_norms_is_the_exact_one(weighting, cohort, base):
    norms = [base + steps * float(np.spacing(base)) for steps, _ in cohort]
    sizes = [size for _, size in cohort]

    for search_range in RANGES:
        expected = oracle(norms, sizes, search_range, weighting)
        assert answer(norms, sizes, search_range, weighting) == expected


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("search_range", RANGES[1:], ids=str)
def test_a_large_cohort_is_split_exactly_in_any_range(search_range, weighting):
    norms, sizes = a_cohort("nearly equal", 200, seed=3)

    assert answer(norms, sizes, search_range, weighting) == oracle(
        norms, sizes, search_range, weighting
    )


def quick_oracle(norms, sizes, weighting):
    """Return the split between the quartiles, from exact running sums."""
    _, norms, sizes = sorted_clients(norms, sizes)
    mass = list(accumulate(sizes))
    first = list(accumulate(n * u for u, n in zip(norms, sizes, strict=True)))
    second = list(accumulate(n * u * u for u, n in zip(norms, sizes, strict=True)))

    def spread(s, a, b):  # S^2 Var(U)
        return b * s - a * a

    def quartile(q):
        return bisect_left(mass, -(-q.numerator * mass[-1] // q.denominator)) + 1

    best, best_numerator, best_denominator = None, 1, 0
    for tau in range(quartile(Q1), quartile(Q3)):
        easy = mass[tau - 1], first[tau - 1], second[tau - 1]
        hard = mass[-1] - easy[0], first[-1] - easy[1], second[-1] - easy[2]
        of_easy, of_hard = (tau, len(norms) - tau) if weighting == "count" else (easy[0], hard[0])
        numerator = of_easy * spread(*easy) * hard[0] ** 2 + of_hard * spread(*hard) * easy[0] ** 2
        denominator = easy[0] ** 2 * hard[0] ** 2
        if numerator * best_denominator < best_numerator * denominator:
            best, best_numerator, best_denominator = tau, numerator, denominator
    return best


def test_the_quick_oracle_is_the_slow_one():
    for kind in ("ordinary", "nearly equal", "from 1e-12 to 1e12"):
        norms, sizes = a_cohort(kind, 60, seed=11)
        for weighting in WEIGHTINGS:
            slowly = oracle(norms, sizes, (Q1, Q3), weighting)[3]
            assert quick_oracle(norms, sizes, weighting) == slowly


# The error bound grows with the number of clients: several positions are then compared exactly.
@pytest.mark.parametrize(
    "kind", ["ordinary", "nearly equal", "from 1e-12 to 1e12", "many ties", "equally spaced"]
)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("of_clients", ["up to 2000", "equal"])
def test_the_split_of_a_population_is_the_exact_one(kind, weighting, of_clients):
    norms, sizes = a_cohort(kind, 40_000, 5, of_clients)

    assert answer(norms, sizes, weighting=weighting)[3] == quick_oracle(norms, sizes, weighting)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_float_pass_keeps_few_candidates_and_among_them_the_best(weighting):
    for of_clients in SIZES:
        norms, sizes = a_cohort("equally spaced", 20_000, 8, of_clients)
        _, first, end, tau, _ = answer(norms, sizes, weighting=weighting)
        ordered = sorted(zip(norms, sizes, strict=True))

        candidates = candidate_splits(
            *map(np.array, zip(*ordered, strict=True)), first, end, weighting
        )

        assert tau in candidates
        assert len(candidates) < (end - first) / 50


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_clients_of_very_many_examples_are_split_exactly(weighting):
    norms, sizes = a_cohort("nearly equal", 300, seed=6)
    sizes = [size << 29 for size in sizes]

    assert answer(norms, sizes, weighting=weighting) == oracle(norms, sizes, (Q1, Q3), weighting)


def a_mirror(seed):
    """Return a cohort that is its own mirror image, in three clusters.

    A cut after the first cluster is then exactly as good as one before the last.
    """
    generator = np.random.default_rng(seed)
    centre = 2**51 + 2**49
    low = generator.integers(2**49, 2**50, size=80).tolist()
    middle = generator.integers(centre - 2**45, centre, size=20).tolist()
    half = sorted(low + middle)
    sizes = generator.integers(40, 50, size=100).tolist()
    return half + [2 * centre - norm for norm in reversed(half)], sizes + sizes[::-1]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_of_two_equally_good_cuts_among_hundreds_the_first_is_taken(weighting):
    norms, sizes = a_mirror(seed=0)

    assert answer(norms, sizes, weighting=weighting)[3] == 80


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_the_last_bit_of_one_norm_decides_between_two_cuts(weighting, seed):
    norms, sizes = a_mirror(seed)
    norms[7 * seed] += 1

    found = answer(norms, sizes, weighting=weighting)

    assert found == oracle(norms, sizes, (Q1, Q3), weighting)
    assert found[3] in (80, 120)


@given(
    cohort=st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 1000)), min_size=2, max_size=90),
    exponent=st.integers(-900, 900),
    weighting=st.sampled_from(WEIGHTINGS),
)
@settings(derandomize=True, deadline=None)
def test_a_power_of_two_in_all_norms_changes_nothing(cohort, exponent, weighting):
    norms, sizes = (list(column) for column in zip(*cohort, strict=True))

    scaled = np.ldexp(norms, exponent).tolist()

    assert answer(scaled, sizes, weighting=weighting) == answer(norms, sizes, weighting=weighting)


@given(
    cohort=st.lists(
        st.tuples(magnitudes, st.integers(1, 1000)),
        min_size=2,
        max_size=60,
        unique_by=lambda c: c[0],
    ),
    random=st.randoms(use_true_random=False),
)
@settings(derandomize=True, deadline=None)
def test_the_order_of_clients_with_distinct_norms_does_not_matter(cohort, random):
    shuffled = random.sample(cohort, len(cohort))

    def hard(clients):
        norms, sizes = zip(*clients, strict=True)
        cut = split(np.array(norms), np.array(sizes))
        return [clients[i] for i in cut.hard]

    assert hard(shuffled) == hard(cohort)


def test_equal_norms_keep_the_order_they_are_given_in():
    order, *_ = answer([2.0, 1.0, 2.0, 1.0, 2.0], [1] * 5)

    assert order == [1, 3, 0, 2, 4]


def test_easy_and_hard_are_the_two_sides_of_tau():
    cut = split(np.array([5.0, 0.1, 0.3, 4.0]), np.array([10, 10, 10, 10]))

    assert cut.easy.tolist() == [1, 2]
    assert cut.hard.tolist() == [3, 0]


@given(sizes=st.lists(st.integers(1, 2**55), min_size=1, max_size=20), ends=fractions())
@settings(derandomize=True, deadline=None)
def test_the_ends_of_the_range_are_exact_for_sizes_that_no_float_holds(sizes, ends):
    assert range_ends(np.cumsum(sizes), *ends) == tuple(position(sizes, end) for end in ends)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1, 1, 1], (1, 3)),  # both quartiles fall exactly on a client
        ([1, 1, 1, 1, 1], (2, 4)),
        ([25, 50, 25], (1, 2)),
        ([24, 50, 26], (2, 3)),
        ([26, 50, 24], (1, 2)),
    ],
)
def test_a_quartile_that_falls_exactly_on_a_client_is_found_there(sizes, expected):
    assert range_ends(np.cumsum(sizes), Q1, Q3) == expected


def test_one_missing_example_moves_a_quartile_even_where_floats_cannot_tell():
    quarter = 2**53  # above, neighbouring integers are one float

    assert range_ends(np.cumsum([quarter, 3 * quarter]), Q1, Q3) == (1, 2)
    assert range_ends(np.cumsum([quarter, 3 * quarter + 1]), Q1, Q3) == (2, 2)


def test_the_lower_end_zero_is_the_first_position():
    assert range_ends(np.cumsum([5, 5]), Fraction(0), Fraction(1)) == (1, 2)


@pytest.mark.parametrize(
    ("sizes", "tau"),
    [
        ([1, 98, 1], 2),  # the client in the middle holds both quartiles
        ([1, 1, 98], 2),  # the last does: tau must leave somebody hard
        ([98, 1, 1], 1),
    ],
)
def test_an_empty_range_cuts_at_its_lower_end_and_leaves_somebody_hard(sizes, tau):
    _, first, end, found, empty = answer([1.0, 2.0, 3.0], sizes)

    assert empty
    assert first == end
    assert found == tau


def test_a_cohort_of_one_is_all_hard():
    assert answer([3.0], [10]) == ([0], 1, 1, 0, True)


def test_equal_norms_are_cut_at_the_lower_end():
    assert answer([2.0] * 8, [1] * 8)[1:] == (2, 6, 2, False)


@given(norms=st.lists(magnitudes, min_size=5, max_size=5), size=st.integers(1, 10**9))
@settings(derandomize=True, deadline=None)
def test_of_five_clients_of_equal_size_at_most_three_are_hard(norms, size):
    *_, tau, _ = answer(norms, [size] * 5)

    assert 5 - tau <= 3


@given(cohort=small_cohorts.filter(lambda c: len(c) > 1), search_range=st.sampled_from(RANGES))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_mass_weighting_obeys_the_law_of_total_variance(cohort, search_range):
    _, norms, sizes = sorted_clients(*(list(column) for column in zip(*cohort, strict=True)))
    total, mass = variance(norms, sizes), sum(sizes)

    def mean(tau_slice):
        weighted = sum(n * u for u, n in zip(norms[tau_slice], sizes[tau_slice], strict=True))
        return Fraction(weighted, sum(sizes[tau_slice]))

    def inter_split_variance(tau):
        parts = (slice(0, tau), slice(tau, None))
        centre = mean(slice(None))
        return sum(Fraction(sum(sizes[p]), mass) * (mean(p) - centre) ** 2 for p in parts)

    _, first, end, tau, empty = answer(sorted(u for u, _ in cohort), sizes, search_range, "mass")

    between = {t: inter_split_variance(t) for t in range(1, len(norms))}
    assert all(total - intra_split_variance(norms, sizes, t, "mass") == between[t] for t in between)
    # Hence the least variance inside the clusters is the largest between them.
    assert empty or between[tau] == max(between[t] for t in range(first, end))


def test_the_two_weightings_can_differ():
    # count: 3/4 * 2/11 at tau = 1 is less than 1/2 * 1/4 + 1/2 * 9/100 at tau = 2.
    # mass: 11/12 * 2/11 at tau = 1 is more than 2/12 * 1/4 + 10/12 * 9/100 at tau = 2.
    norms, sizes = [1.0, 2.0, 3.0, 4.0], [1, 1, 9, 1]

    taus = {weighting: answer(norms, sizes, RANGES[1], weighting)[3] for weighting in WEIGHTINGS}

    assert taus == {"count": 1, "mass": 2}


@pytest.mark.parametrize(("num_clients", "size"), [(2, 2**61), (100, 2**61), (2, 2**70)])
def test_a_cohort_of_too_many_examples_is_refused(num_clients, size):
    with pytest.raises(ConfigurationError, match="remove that client, or limit its size"):
        split([float(i) for i in range(num_clients)], [size] * num_clients)
