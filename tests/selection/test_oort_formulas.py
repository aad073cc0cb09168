"""The formulas of Oort against slow, simple versions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.seeds import stream
from terrafl.selection.oort.draw import Standing, admit, draw_by_weight, fastest, pick
from terrafl.selection.oort.presets import PRESETS, OortRules
from terrafl.selection.oort.utility import (
    below_cap,
    clip,
    exploration_share,
    rescale,
    straggler_factor,
    temporal_uncertainty,
)

PAPER, RELEASED = OortRules(), PRESETS["oort-repo"]
utilities = st.lists(st.floats(0, 1e6), min_size=1, max_size=30).map(np.array)


def test_temporal_uncertainty_is_the_papers():
    last_rounds = np.array([1.0, 3.0, 7.0])

    got = temporal_uncertainty(8, last_rounds)

    assert got.tolist() == pytest.approx([math.sqrt(0.1 * math.log(8) / r) for r in (1, 3, 7)])
    assert temporal_uncertainty(1, last_rounds).tolist() == [0, 0, 0]


def test_only_stragglers_are_penalised():
    durations = np.array([0.5, 2.0, 4.0, 8.0])

    assert straggler_factor(durations, 2.0, 2.0).tolist() == [1, 1, 0.25, 0.0625]
    assert straggler_factor(durations, math.inf, 2.0).tolist() == [1, 1, 1, 1]
    assert straggler_factor(durations, 2.0, 0.0).tolist() == [1, 1, 1, 1]


@given(utilities, st.sampled_from([0.5, 0.9, 0.95, 1.0]))
@settings(derandomize=True, deadline=None)
def test_the_clip_is_an_order_statistic(values, quantile):
    ordered = sorted(values.tolist())

    assert (
        clip(values, quantile)
        == ordered[min(math.floor(len(ordered) * quantile), len(ordered) - 1)]
    )


@given(utilities, utilities)
@settings(derandomize=True, deadline=None)
def test_rescaling_is_that_of_the_released_programs(explored, sizes):
    rewards = [reward for reward in [*explored.tolist(), *sizes.tolist()] if reward > 0]

    got = rescale(explored, np.concatenate([explored, sizes]), 0.98)

    if rewards:
        low = min(rewards) * 0.999
        top = sorted(rewards)[min(math.floor(len(rewards) * 0.98), len(rewards) - 1)]
        span = max(max(rewards) - low, 1e-4)
        assert got.tolist() == pytest.approx([(min(u, top) - low) / span for u in explored])
    else:
        assert not got.any()


@pytest.mark.parametrize(
    ("preset", "by_round"),
    [
        ("paper", {1: 0.9, 2: 0.9 * 0.98, 11: 0.9 * 0.98**10, 500: 0.2}),
        ("oort-repo", {2: 0.9 * 0.95, 3: 0.9 * 0.95**2, 500: 0.2}),
        ("fedscale", {2: 0.9 * 0.98, 500: 0.3}),
        ("hics", {26: 0.9 * 0.8, 27: 0.9 * 0.8**2, 500: 0.2}),
    ],
)
def test_exploration_decays_once_per_round_to_its_floor(preset, by_round):
    shares = {now: exploration_share(now, PRESETS[preset]) for now in by_round}

    assert shares == pytest.approx(by_round)


@given(utilities, st.data(), st.sampled_from(["paper", "released"]))
@settings(derandomize=True, deadline=None)
def test_admitted_is_who_reaches_the_cut_off(values, data, formula):
    places = data.draw(st.integers(1, len(values)))
    rules = replace(PAPER, formula=formula, cut_off=0.7)

    admitted = admit(values, places, rules)

    ranked = sorted(values.tolist(), reverse=True)
    rank = places if formula == "paper" else min(places + 1, len(values))
    threshold = 0.7 * ranked[rank - 1]
    expected = {i for i, value in enumerate(values.tolist()) if value >= threshold}
    assert set(admitted.tolist()) == expected
    assert len(admitted) >= places


def test_negative_utilities_still_fill_the_places():
    rescaled = np.array([-0.5, -0.1, -0.9])

    assert admit(rescaled, 2, RELEASED).tolist() == [1, 0]


@given(utilities, st.data(), st.floats(0, 1))
@settings(derandomize=True, deadline=None)
def test_fedscale_admits_as_its_program_does(values, data, cut_off):
    places = data.draw(st.integers(1, max(1, len(values) // 4)))
    rules = replace(PRESETS["fedscale"], cut_off=cut_off)

    admitted = admit(values, places, rules)

    # Go down the ranking; stop below the cut-off, but not before 10 times the places are passed.
    ranked = sorted(values.tolist(), reverse=True)
    threshold = cut_off * ranked[min(places, len(ranked) - 1)]
    expected = []
    for value in ranked:
        if value < threshold and len(expected) > 10 * places:
            break
        expected.append(value)
    assert values[admitted].tolist() == expected


def test_fedscale_admits_ten_times_the_places_and_one_more():
    values = np.arange(50.0)

    assert len(admit(values, 3, replace(PRESETS["fedscale"], cut_off=1.0))) == 31
    assert len(admit(values, 3, replace(RELEASED, cut_off=1.0))) == 4


@given(st.integers(0, 25), st.integers(0, 25), st.integers(0, 25), st.floats(0, 0.99))
@settings(derandomize=True, deadline=None)
def test_fedscale_leaves_places_empty_as_its_program_does(known, unknown, wanted, exploration):
    picks = pick(
        stream(0, "test"), standing(known, unknown), wanted, exploration, PRESETS["fedscale"]
    )

    exploited = min(wanted - math.floor(wanted * exploration), known)
    explored = min(unknown, wanted - exploited)
    if known + unknown <= wanted:
        assert sorted(np.concatenate(picks).tolist()) == list(range(known + unknown))
    else:
        assert [len(part) for part in picks] == [exploited, explored, 0]


def test_weighted_draws_follow_the_weights():
    clients, counts = np.array([3, 5, 9]), np.zeros(10)
    for i in range(4000):
        drawn = draw_by_weight(stream(0, "test", round=i), clients, np.array([1.0, 2.0, 5.0]), 1)
        counts[drawn] += 1

    # 4,000 draws: the standard deviation is at most 0.0079.
    assert counts[clients] / 4000 == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=5 * 0.0079)


@pytest.mark.parametrize(
    "weights", [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -2.0, 0.0], [1e300, 1e-300, 0]]
)
def test_any_weights_can_fill_every_place(weights):
    drawn = draw_by_weight(stream(0, "test"), np.arange(3), np.array(weights), 3)

    assert sorted(drawn.tolist()) == [0, 1, 2]


def standing(num_explored, num_unexplored):
    explored = np.arange(num_explored)
    unexplored = np.arange(num_explored, num_explored + num_unexplored)
    return Standing(explored, np.ones(num_explored), unexplored, np.ones(num_unexplored))


@given(
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(0, 15),
    st.floats(0, 1),
    st.sampled_from([PAPER, RELEASED]),
)
@settings(derandomize=True, deadline=None)
def test_a_cohort_is_full_distinct_and_sorted_by_reason(known, unknown, wanted, exploration, rules):
    picks = pick(stream(0, "test"), standing(known, unknown), wanted, exploration, rules)

    drawn = [*picks.exploited.tolist(), *picks.explored.tolist(), *picks.filled.tolist()]
    assert len(set(drawn)) == len(drawn) == min(wanted, known + unknown)
    assert all(client < known for client in [*picks.exploited, *picks.filled])
    assert all(client >= known for client in picks.explored)


@pytest.mark.parametrize("rules", [PAPER, RELEASED])
def test_one_part_in_ten_of_ten_places_is_exploited_at_the_start(rules):
    picks = pick(stream(0, "test"), standing(20, 20), 10, 0.9, rules)

    assert (len(picks.exploited), len(picks.explored)) == (1, 9)


@pytest.mark.parametrize(("rules", "split"), [(PAPER, (8, 2, 0)), (RELEASED, (5, 2, 3))])
def test_places_without_an_unexplored_client_are_exploited_or_filled(rules, split):
    picks = pick(stream(0, "test"), standing(20, 2), 10, 0.5, rules)

    assert (len(picks.exploited), len(picks.explored), len(picks.filled)) == split


def test_nobody_below_the_cut_off_is_exploited():
    clients = Standing(np.arange(4), np.array([10.0, 9.6, 9.4, 1.0]), np.arange(0), np.empty(0))

    drawn = {int(pick(stream(i, "test"), clients, 1, 0.0, PAPER).exploited[0]) for i in range(50)}

    assert drawn == {0, 1}  # 95 % of the highest utility admits


def test_the_released_programs_explore_among_the_most_appealing():
    appeals = np.arange(100.0)
    clients = Standing(np.arange(0), np.empty(0), np.arange(100), appeals)

    drawn = [pick(stream(i, "test"), clients, 2, 1.0, RELEASED).explored for i in range(50)]

    assert np.concatenate(drawn).min() == 90  # the ten largest compete for two places
    assert np.concatenate(drawn).max() == 99


def test_the_slowest_of_an_overcommitted_cohort_are_sent_home():
    durations = np.array([5.0, 1.0, 4.0, 2.0, 3.0, 9.0])
    generator = stream(0, "test")
    picks = pick(generator, standing(3, 3), 6, 0.5, PAPER)

    kept = fastest(generator, picks, durations, 4)

    assert sorted(kept.exploited.tolist()) == [1, 2]
    assert sorted(kept.explored.tolist()) == [3, 4]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(1, 40))
@settings(derandomize=True, deadline=None)
def test_the_cap_excludes_the_frequent_and_never_starves_a_round(counts, wanted):
    participations = np.array(counts, dtype=np.float64)

    allowed = below_cap(participations, wanted, PAPER)

    caps = (
        cap
        for cap in range(10, 100, 10)
        if sum(c <= cap for c in counts) >= min(wanted, len(counts))
    )
    cap = next(caps)
    assert allowed.tolist() == [count <= cap for count in counts]


def test_at_most_the_permitted_share_is_excluded_the_most_frequent_first():
    rules = replace(RELEASED, max_participations=2)
    participations = np.array([9.0, 3.0, 8.0, 1.0, 7.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    allowed = below_cap(participations, 5, rules)

    assert np.flatnonzero(~allowed).tolist() == [0, 2, 4]
