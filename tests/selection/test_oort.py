"""The Oort selector: its stored values and its draws."""

import math
from collections import Counter

import numpy as np
import pytest
from made_contexts import a_context

from terrafl.records import Population
from terrafl.selection.oort import Oort
from terrafl.selection.uniform import Random

ROUNDS = 2000


def frequencies(selector, make_context, population, *, round, clients_per_round=1):
    """Return how often each client is drawn in one round, over many seeds."""
    counts = Counter()
    for seed in range(ROUNDS):
        context = make_context(
            population, round=round, clients_per_round=clients_per_round, seed=seed
        )
        counts.update(selector.draw(context).clients)
    return [counts[client] / ROUNDS for client in population.ids.tolist()]


def told(selector, make_report, reports):
    """Let each client report its size and loss in its round."""
    for client, (number, size, loss) in reports.items():
        measured = dict.fromkeys(selector.needs & {"loss", "squared_loss"}, loss)
        selector.refine(
            [make_report(client, round=number, num_examples=size, **measured)], a_context()
        )
    return selector


def test_explored_clients_are_drawn_in_proportion_to_the_papers_utility(make_context, make_report):
    population = Population.of({"a": 1, "b": 1, "c": 1})
    durations = {"a": 1.0, "b": 1.0, "c": 1.5}  # the median, 1 second, is preferred
    reports = {"a": (0, 2, 0.0), "b": (8, 5, 0.0001), "c": (8, 10, 0.0001)}
    selector = Oort(exploration=0.0, exploration_min=0.0, cut_off=0.0, durations=durations)
    told(selector, make_report, reports)

    got = frequencies(selector, make_context, population, round=9)

    def utility(client):
        number, size, squared_loss = reports[client]
        statistical = size * math.sqrt(squared_loss)
        temporal = math.sqrt(0.1 * math.log(10) / (number + 1))
        late = durations[client] > 1.0
        return (statistical + temporal) * ((1.0 / durations[client]) ** 2 if late else 1.0)

    total = sum(map(utility, "abc"))
    # 2,000 draws: the standard deviation is at most 0.0112.
    assert got == pytest.approx([utility(client) / total for client in "abc"], abs=5 * 0.0112)


def test_fedscale_rescales_utilities_among_sizes_and_counts_negative_ones_by_their_size(
    make_context, make_report
):
    population = Population.of({"a": 10, "b": 10, "unexplored": 40})
    selector = Oort(preset="fedscale", exploration=0.0, exploration_min=0.0, cut_off=0.0)
    told(selector, make_report, {"a": (0, 10, 0.0), "b": (8, 10, 4.0)})

    got = frequencies(selector, make_context, population, round=9)

    low, top = 0.999 * 20, 40.0  # rewards above 0: 10 * sqrt(4), and the size 40
    scores = [
        abs((0.0 - low) / (top - low) + math.sqrt(0.1 * math.log(9) / 1)),
        abs((20.0 - low) / (top - low) + math.sqrt(0.1 * math.log(9) / 9)),
    ]
    expected = [score / sum(scores) for score in scores]
    assert got == pytest.approx([*expected, 0.0], abs=5 * 0.0112)


def test_hics_measures_the_mean_loss_and_restarts_its_clock(make_context, make_report):
    population = Population.of({"a": 10, "b": 10})
    selector = Oort(preset="hics", cut_off=0.0)
    told(selector, make_report, {"a": (0, 10, 4.0), "b": (24, 10, 9.0)})

    got = frequencies(selector, make_context, population, round=26)

    low, top = 0.999 * 20, 30.0  # 10 * sqrt(4) and 10 * sqrt(9)
    scores = [
        (20.0 - low) / (top - low) + math.sqrt(0.1 * math.log(2) / 1),
        (30.0 - low) / (top - low) + math.sqrt(0.1 * math.log(2) / 25),
    ]
    assert got == pytest.approx([score / sum(scores) for score in scores], abs=5 * 0.0112)


def test_unexplored_clients_are_drawn_in_proportion_to_speed(make_context):
    population = Population.of({"a": 900, "b": 1, "c": 1})
    selector = Oort(durations={"a": 4.0, "b": 2.0, "c": 1.0})

    got = frequencies(selector, make_context, population, round=0)

    assert got == pytest.approx([1 / 7, 2 / 7, 4 / 7], abs=5 * 0.0112)


def test_the_released_programs_explore_by_size_and_penalise_stragglers(make_context):
    population = Population.of({"a": 40, "b": 50, "c": 90})
    selector = Oort(preset="fedscale", durations={"a": 1.0, "b": 1.0, "c": 3.0})

    got = frequencies(selector, make_context, population, round=1)

    # 90 / 3^2 = 10: one second, the lowest of three durations, is the 30th percentile.
    assert got == pytest.approx([0.4, 0.5, 0.1], abs=5 * 0.0112)


def test_a_high_utility_beyond_the_clip_counts_no_more_than_the_clip(make_context, make_report):
    population = Population.of(dict.fromkeys("abcdef", 1))
    selector = Oort(exploration=0.0, exploration_min=0.0, cut_off=0.0, clip_quantile=0.5)
    losses = dict(zip("abcdef", [1.0, 1.0, 1.0, 1.0, 1.0, 1e12], strict=True))
    selector.refine(
        [make_report(c, num_examples=1, squared_loss=losses[c]) for c in "abcdef"], a_context()
    )

    got = frequencies(selector, make_context, population, round=1)

    assert got == pytest.approx([1 / 6] * 6, abs=5 * 0.0084)


def test_the_first_rounds_explore_and_later_ones_exploit(talk):
    conversation = talk(Oort(), num_rounds=200, clients_per_round=10)
    cohorts = conversation.rounds(range(120))

    why = [cohort.why for _, iteration, cohort in cohorts if iteration == 0]
    assert (len(why[0]["exploited"]), len(why[0]["explored"])) == (0, 10)
    assert (len(why[1]["exploited"]), len(why[1]["explored"])) == (1, 9)
    assert (len(why[-1]["exploited"]), len(why[-1]["explored"])) == (10, 0)


def test_a_client_is_excluded_after_more_than_the_cap(make_context, make_report):
    population = Population.of(dict.fromkeys("abc", 1))
    selector = Oort(max_participations=2)
    for number in range(3):
        selector.refine([make_report("a", round=number, squared_loss=1e6)], a_context())
        selector.refine(
            [make_report("b", round=number, squared_loss=1e-6)] if number < 2 else [], a_context()
        )
    selector.refine([make_report("c", round=0, squared_loss=1e-6)], a_context())

    cohort = selector.draw(make_context(population, round=3, clients_per_round=2))

    assert cohort.clients == ("b", "c")


def test_the_cap_never_starves_a_round(talk):
    conversation = talk(Oort(max_participations=1), clients_per_round=5)

    cohorts = conversation.rounds(range(60))

    sizes = {len(cohort) for _, iteration, cohort in cohorts if iteration == 0}
    assert sizes == {5}


def test_the_cap_can_be_lifted(talk):
    conversation = talk(Oort(max_participations="unlimited", exploration_min=0.0))

    cohorts = conversation.rounds(range(200))

    taken = Counter(c for _, iteration, cohort in cohorts if iteration == 0 for c in cohort.clients)
    assert max(taken.values()) > 50


def test_a_client_that_never_reported_is_still_unexplored(make_context):
    population = Population.of(dict.fromkeys("ab", 1))
    selector = Oort()
    first = selector.draw(make_context(population, clients_per_round=2))
    selector.refine([], a_context())

    second = selector.draw(make_context(population, round=1, clients_per_round=2))

    assert first.why["explored"] == second.why["explored"] == ["a", "b"]


def test_a_client_that_joins_is_unexplored(make_context, make_report):
    selector = Oort(exploration=1.0, exploration_min=1.0)
    selector.refine([make_report(client) for client in "ac"], a_context())
    grown = Population.of(dict.fromkeys("abc", 1))

    cohort = selector.draw(make_context(grown, round=1, clients_per_round=2))

    assert cohort.why["explored"] == ["b"]
    assert len(cohort.why["exploited"]) == 1


def test_measured_durations_slow_a_client_down(make_context, make_report):
    population = Population.of(dict.fromkeys("abc", 1))
    selector = Oort(durations="measured", exploration_min=0.0, exploration=0.0, cut_off=0.0)
    seconds = {"a": 1.0, "b": 1.0, "c": 1000.0}
    selector.refine(
        [make_report(c, num_examples=9, squared_loss=1.0, duration_s=seconds[c]) for c in "abc"],
        a_context(),
    )

    drawn = {
        selector.draw(make_context(population, round=1, seed=s, clients_per_round=2)).clients
        for s in range(50)
    }

    assert drawn == {("a", "b")}
    assert selector.needs == {"squared_loss", "duration_s"}


@pytest.mark.parametrize("restarts", [False, True])
def test_the_pacer_admits_slower_clients_as_utility_falls(talk, make_report, restarts):
    def fading(client, *, round, iteration):
        return make_report(client, round=round, squared_loss=1.0 / (1 + round), num_examples=9)

    def restarted(selector):
        fresh = Oort(durations="seeded")
        fresh.restore(selector.state())
        return fresh

    swap = restarted if restarts else None
    conversation = talk(Oort(durations="seeded"), report=fading, num_rounds=100, swap=swap)
    cohorts = conversation.rounds(range(81))

    preferred = [c.why["preferred_duration_s"] for _, iteration, c in cohorts if iteration == 0]
    assert preferred[40] == pytest.approx(2 * preferred[0])
    assert preferred[80] == pytest.approx(4 * preferred[0])


def test_hics_draws_its_first_25_rounds_by_size(talk):
    conversation = talk(Oort(preset="hics"))

    cohorts = [cohort for _, iteration, cohort in conversation.rounds() if iteration == 0]

    phases = [cohort.why.get("phase") for cohort in cohorts]
    assert phases == ["warm-up"] * 25 + [None] * 5
    sizes = dict(
        zip(
            conversation.population.ids.tolist(),
            conversation.population.sizes.tolist(),
            strict=True,
        )
    )
    drawn = [sizes[client] for cohort in cohorts[:25] for client in cohort.clients]
    # Under a uniform draw the mean size would be 103.
    assert np.mean(drawn) > np.mean(list(sizes.values())) + 10


def test_the_published_oort_starts_with_the_same_draw_as_random(make_population, make_context):
    population = make_population(40)

    first = Oort(preset="oort-repo").draw(make_context(population))

    assert first.clients == Random().draw(make_context(population)).clients


def test_the_published_oort_passes_over_tiny_clients_while_it_can(make_context):
    population = Population.of({"a": 31, "b": 32, "c": 33})
    selector = Oort(preset="oort-repo")

    two = selector.draw(make_context(population, round=1, clients_per_round=2))
    three = selector.draw(make_context(population, round=1, clients_per_round=3))

    assert two.clients == ("b", "c")
    assert three.clients == ("a", "b", "c")


def test_an_overcommitted_cohort_is_no_larger_than_asked_for(make_context):
    population = Population.of({f"c{i}": 50 for i in range(10)})
    durations = {f"c{i}": 1.0 + i for i in range(10)}
    selector = Oort(preset="fedscale", durations=durations, penalty=0.0)

    cohort = selector.draw(make_context(population, round=1, clients_per_round=8))

    assert cohort.clients == tuple(f"c{i}" for i in range(8))


def test_the_cohort_is_averaged_by_size():
    assert Oort.averaging == "size"


def test_a_client_costs_at_most_a_hundred_bytes(make_context, make_report):
    population = Population.of({f"client-{i:06d}": 10 for i in range(5000)})
    selector = Oort(durations="measured")
    selector.draw(make_context(population))
    selector.refine([make_report(client) for client in population.ids.tolist()], a_context())

    remembered = sum(array.nbytes for array in selector.state().values())
    assert remembered <= 100 * len(population)
