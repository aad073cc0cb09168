"""The HiCS-FL selector: its warm-up, clusters and draws."""

import math
from collections import Counter

import numpy as np
import pytest
from made_contexts import a_context
from slow_bins import transcribed_bins

from terrafl.errors import ConfigurationError
from terrafl.records import Population
from terrafl.seeds import stream
from terrafl.selection.hics import HiCSFL

BALANCED, SKEWED = np.zeros(4), np.array([0.05, 0.0, 0.0, 0.0])


def firsts(cohorts):
    return [cohort for _, iteration, cohort in cohorts if iteration == 0]


def two_kinds(make_report):
    """Return a selector that knows two balanced and two unbalanced clients."""
    selector = HiCSFL(num_clusters=2)
    updates = {"a": BALANCED, "b": BALANCED, "c": SKEWED, "d": SKEWED}
    selector.refine(
        [make_report(c, bias_update=update) for c, update in updates.items()], a_context()
    )
    return selector


@pytest.mark.parametrize("compat", ["paper", "released"])
def test_the_warm_up_visits_everybody_once(talk, compat):
    conversation = talk(HiCSFL(compat=compat), clients_per_round=5)

    cohorts = firsts(conversation.rounds(range(8)))

    visited = Counter(client for cohort in cohorts for client in cohort.clients)
    assert visited == Counter(conversation.population.ids.tolist())


def test_the_warm_up_of_the_paper_is_in_random_order_and_that_of_the_program_is_not(talk):
    def order(compat, seed):
        conversation = talk(HiCSFL(compat=compat), seed=seed)
        return [cohort.clients for cohort in firsts(conversation.rounds(range(8)))]

    ids = talk(None).population.ids.tolist()

    assert order("paper", 0) != order("paper", 1)
    assert order("released", 0) == [tuple(ids[i : i + 5]) for i in range(0, 40, 5)]


def test_places_left_over_by_the_warm_up_are_drawn_from_clusters(talk, make_population):
    conversation = talk(HiCSFL(), population=make_population(12), clients_per_round=5)

    cohorts = firsts(conversation.rounds(range(4)))

    assert [len(cohort.why["visited"]) for cohort in cohorts] == [5, 5, 2, 0]
    assert [len(cohort) for cohort in cohorts] == [5, 5, 5, 5]
    assert ["clusters" in cohort.why for cohort in cohorts] == [False, False, True, True]


def test_the_program_never_visits_the_remainder(talk, make_population):
    conversation = talk(HiCSFL(compat="released"), population=make_population(13))

    cohorts = firsts(conversation.rounds(range(20)))

    visited = {client for cohort in cohorts for client in cohort.clients}
    assert visited == set(conversation.population.ids[:10].tolist())


def test_a_client_whose_report_was_refused_is_visited_again(talk, make_report):
    def refused_once(client, *, round, iteration):
        spoilt = {"bias_update": np.array([np.nan])} if client == "c07" and round < 8 else {}
        return make_report(client, round=round, iteration=iteration, **spoilt)

    conversation = talk(HiCSFL(), report=refused_once)

    cohorts = firsts(conversation.rounds(range(10)))

    visits = [i for i, cohort in enumerate(cohorts) if "c07" in cohort.why["visited"]]
    assert visits[-1] == 8
    assert all("c07" not in cohort.why["visited"] for cohort in cohorts[9:])


def test_a_client_out_of_reach_is_visited_when_it_returns(talk):
    def reach(number, count):
        return np.arange(count) >= (20 if number < 9 else 0)

    conversation = talk(HiCSFL(), available=reach)

    cohorts = firsts(conversation.rounds(range(30)))

    # Twenty are visited in four rounds; the others come back after the scheduled eight, when
    # at most half of five places are theirs.
    assert [len(c.why["visited"]) for c in cohorts[:9]] == [5, 5, 5, 5, 0, 0, 0, 0, 0]
    assert [len(c.why["visited"]) for c in cohorts[9:20]] == [2] * 10 + [0]


def test_a_client_that_joins_is_visited(make_context, make_report):
    selector = two_kinds(make_report)
    grown = Population.of(dict.fromkeys("abcde", 10))

    cohort = selector.draw(make_context(grown, round=9, clients_per_round=2))

    assert cohort.why["visited"] == ["e"]


def test_clients_that_never_answer_cannot_hold_up_the_training(talk, make_report):
    def silent(client, *, round, iteration):
        spoilt = {"bias_update": None} if client < "c20" else {}
        return make_report(client, round=round, iteration=iteration, **spoilt)

    conversation = talk(HiCSFL(), report=silent, num_rounds=40)

    cohorts = firsts(conversation.rounds(range(40)))

    assert all(len(cohort) == 5 for cohort in cohorts)
    assert all(len(cohort.why["visited"]) <= 2 for cohort in cohorts[8:])


def test_clusters_are_drawn_by_their_mean_entropy_and_clients_by_size(make_context, make_report):
    population = Population.of({"a": 10, "b": 30, "c": 20, "d": 20})
    selector, counts, rounds = two_kinds(make_report), Counter(), 2000

    for seed in range(rounds):
        context = make_context(population, round=9, num_rounds=12, clients_per_round=1, seed=seed)
        counts.update(selector.draw(context).clients)

    weights = [math.exp(4 * (1 - 9 / 12) * h) for h in (math.log(4), 0.0)]  # gamma_t = 1
    balanced, skewed = (weight / sum(weights) for weight in weights)
    expected = [balanced / 4, balanced * 3 / 4, skewed / 2, skewed / 2]
    # 2,000 draws: the standard deviation is at most 0.0112.
    assert [counts[c] / rounds for c in "abcd"] == pytest.approx(expected, abs=5 * 0.0112)


def test_the_journal_shows_the_clusters_and_who_came_from_which(make_context, make_report):
    population = Population.of(dict.fromkeys("abcd", 10))
    selector = two_kinds(make_report)

    cohort = selector.draw(make_context(population, round=15, num_rounds=30, clients_per_round=3))

    balanced, skewed = cohort.why["clusters"]
    assert cohort.why["gamma"] == 2.0
    assert balanced["mean_entropy"] == pytest.approx(math.log(4))
    assert balanced["probability"] == pytest.approx(16 / 17)
    assert (balanced["clients"], skewed["clients"]) == (2, 2)
    assert sorted(balanced["drawn"] + skewed["drawn"]) == list(cohort.clients)
    assert cohort.why["visited"] == []


def test_a_cluster_without_anybody_left_is_passed_over(make_context, make_report):
    population = Population.of(dict.fromkeys("abcd", 10))
    only_skewed = np.array([False, False, True, True])
    selector = two_kinds(make_report)

    everybody = selector.draw(make_context(population, round=5, clients_per_round=4))
    reachable = selector.draw(
        make_context(population, round=5, clients_per_round=4, available=only_skewed)
    )

    assert everybody.clients == ("a", "b", "c", "d")
    assert reachable.clients == ("c", "d")
    assert [c["probability"] for c in reachable.why["clusters"]] == [0.0, 1.0]


def test_an_update_is_refreshed_whenever_its_client_takes_part(make_context, make_report):
    population = Population.of(dict.fromkeys("abcd", 10))
    selector = two_kinds(make_report)
    selector.refine([make_report("a", round=1, bias_update=SKEWED)], a_context())

    cohort = selector.draw(make_context(population, round=5, clients_per_round=2))

    assert sorted(cluster["clients"] for cluster in cohort.why["clusters"]) == [1, 3]


def test_the_program_measures_entropy_on_row_means_and_draws_uniformly_inside(
    make_context, make_report
):
    population = Population.of({"a": 1000, "b": 1})
    selector = HiCSFL(compat="released", num_clusters=1)
    weight = np.array([[0.05, 0.05], [0.0, 0.0]])
    update = {"weight_update": weight, "bias_update": np.zeros(2)}
    selector.refine([make_report(client, **update) for client in "ab"], a_context())

    cohorts = [
        selector.draw(make_context(population, round=5, clients_per_round=1, seed=seed))
        for seed in range(1000)
    ]

    # 1,000 draws: the standard deviation is 0.016.
    drawn = Counter(cohort.clients[0] for cohort in cohorts)
    assert drawn["a"] / 1000 == pytest.approx(0.5, abs=5 * 0.016)
    assert cohorts[0].why["clusters"][0]["mean_entropy"] == pytest.approx(0.0, abs=1e-6)
    assert selector.needs == {"weight_update", "bias_update"}


def test_the_program_takes_angles_between_weights_and_biases_together(make_context, make_report):
    population = Population.of(dict.fromkeys("abcd", 10))
    selector = HiCSFL(compat="released", num_clusters=2)
    weight = np.array([[0.05, -0.05], [0.0, 0.0]])  # its row means are zero: equal entropies
    signs = {"a": 1, "b": -1, "c": 1, "d": -1}
    selector.refine(
        [
            make_report(client, weight_update=sign * weight, bias_update=np.zeros(2))
            for client, sign in signs.items()
        ],
        a_context(),
    )

    cohort = selector.draw(make_context(population, round=5, clients_per_round=4))

    assert [cluster["drawn"] for cluster in cohort.why["clusters"]] == [["a", "c"], ["b", "d"]]


def transcribed_cohort(updates, sizes, wanted, generator):
    """Follow the program: entropies, their variance, distances, then Algorithm 2's bins.

    Return nothing if the variance is below 0.1: then the program draws by entropy.
    """
    entropies = []
    for weight, _ in updates:
        exponents = np.exp(np.array([row.sum() / len(row) for row in weight]) / 0.0025)
        chances = exponents / exponents.sum()
        entropies.append(float(-(chances * np.log(chances)).sum()))
    if np.var(entropies) < 0.1:
        return None
    flat = [np.concatenate([weight.ravel(), bias]) for weight, bias in updates]
    rows = np.zeros((len(flat), len(flat)))
    for i, one in enumerate(flat):
        for j, other in enumerate(flat):
            cosine = one @ other / math.sqrt((one @ one) * (other @ other))
            angle = 0.0 if i == j else math.acos(cosine)
            rows[i, j] = angle + 10 * abs(entropies[i] - entropies[j])
    bins = transcribed_bins(generator, rows, sizes, wanted)
    return [int(generator.choice(len(sizes), p=np.array(row) / sum(row))) for row in bins]


@pytest.mark.parametrize("spread", [0.0005, 0.002, 0.003, 0.01])
def test_the_program_samples_by_clusters_when_entropies_vary(make_context, make_report, spread):
    modes = Counter()
    for seed in range(40):
        generator = stream(seed, "updates")
        ids = [f"c{i:02d}" for i in range(24)]
        sizes = generator.integers(10**5, 3 * 10**5, size=24).tolist()
        population = Population.of(dict(zip(ids, sizes, strict=True)))
        scales = spread * (1 + 3 * generator.random(24))
        updates = [(generator.normal(0, s, (5, 3)), generator.normal(0, s, 5)) for s in scales]
        selector = HiCSFL(compat="released")
        selector.refine(
            [
                make_report(client, weight_update=weight, bias_update=bias)
                for client, (weight, bias) in zip(ids, updates, strict=True)
            ],
            a_context(),
        )

        cohort = selector.draw(make_context(population, round=9, clients_per_round=6, seed=seed))

        fresh = make_context(population, round=9, clients_per_round=6, seed=seed).generator
        expected = transcribed_cohort(updates, sizes, 6, fresh)
        modes["clustered" if expected else "guided"] += 1
        if expected is None:
            assert "clusters" in cohort.why
            assert len(cohort) == 6
        else:
            assert cohort.why["sampling"] == "clustered"
            assert Counter(dict(zip(cohort.clients, cohort.draws, strict=True))) == Counter(
                population.names(expected)
            )
    assert modes["guided" if spread < 0.001 else "clustered"] > 0


def test_the_paper_never_samples_by_bins(make_context, make_report):
    population = Population.of(dict.fromkeys("abcd", 10))
    selector = two_kinds(make_report)  # the entropies 0 and ln 4: a variance of 0.48

    cohort = selector.draw(make_context(population, round=9, clients_per_round=2))

    assert "clusters" in cohort.why


def test_clustered_sampling_takes_only_clients_in_reach(make_context, make_report):
    population = Population.of(dict.fromkeys("abcdef", 10))
    selector = HiCSFL(compat="released")
    weights = {c: np.diag([0.05 * (c in "ace"), 0.0]) for c in "abcdef"}
    selector.refine(
        [make_report(c, weight_update=w, bias_update=np.ones(2)) for c, w in weights.items()],
        a_context(),
    )
    reach = np.array([True, True, False, True, True, False])

    cohorts = [
        selector.draw(
            make_context(population, round=9, clients_per_round=3, seed=seed, available=reach)
        )
        for seed in range(30)
    ]

    assert {c.why["sampling"] for c in cohorts} == {"clustered"}
    assert {client for c in cohorts for client in c.clients} == set("abde")
    assert {sum(c.draws) for c in cohorts} == {3}


def test_updates_of_another_length_are_ignored(make_context, make_report):
    population = Population.of(dict.fromkeys("abcd", 10))
    selector = HiCSFL()
    odd = {"a": np.zeros(9)}
    selector.refine([make_report(c, bias_update=odd.get(c, SKEWED)) for c in "abc"], a_context())
    selector.refine([make_report("d", round=1, bias_update=np.zeros((2, 9)))], a_context())

    cohort = selector.draw(make_context(population, round=1, clients_per_round=4))

    assert cohort.why["visited"] == ["a", "d"]
    assert cohort.clients == ("a", "b", "c", "d")


@pytest.mark.parametrize("weight", [np.array(0.5), np.ones(3), np.ones((2, 3, 4))])
def test_a_weight_of_any_shape_is_survived(make_context, make_report, weight):
    selector = HiCSFL(compat="released")
    selector.refine(
        [make_report("a", weight_update=weight), make_report("b"), make_report("c")], a_context()
    )

    cohort = selector.draw(make_context(Population.of({"a": 1, "b": 1, "c": 1}), round=1))

    assert cohort.clients == ("a", "b", "c")
    assert cohort.why["visited"] == ["a"]


def test_a_population_too_large_is_refused_by_name(make_population, make_context):
    with pytest.raises(ConfigurationError, match=r"max_population = 39 .* got 40"):
        HiCSFL(max_population=39).draw(make_context(make_population(40)))


@pytest.mark.parametrize(
    "setting",
    [
        {"temperature": 0.0},
        {"temperature": math.nan},
        {"entropy_weight": -1.0},
        {"gamma": -1.0},
        {"num_clusters": 0},
        {"compat": "code"},
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_name(setting):
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        HiCSFL(**setting)


def test_the_cohort_is_averaged_plainly():
    assert HiCSFL.averaging == "plain"
