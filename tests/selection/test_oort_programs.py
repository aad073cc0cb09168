"""The presets of published programs against a slow version of their bookkeeping.

The slow version keeps one record per client and follows the programs step by step: a clock that
starts at the first guided round, a history of mean utilities, and feedback for idle clients.
"""

import json
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from made_contexts import a_context

from terrafl.records import Population
from terrafl.seeds import stream
from terrafl.selection.oort import Oort
from terrafl.selection.oort.presets import PRESETS, OortRules

PROGRAMS = ("oort-repo", "fedscale", "hics")
PLACES, CLIENTS = 10, 36


@dataclass
class Program:
    rules: OortRules
    reward: dict
    duration: dict
    threshold: float
    exploration: float
    stamp: dict = field(default_factory=dict)
    count: dict = field(default_factory=dict)
    exploited: list = field(default_factory=list)
    successful: set = field(default_factory=set)
    history: list = field(default_factory=list)
    clock: int = 0
    moves: int = 0

    def begin(self):
        self.clock += 1
        rewards = [self.reward[c] for c in self.exploited if c in self.successful]
        self.history.append(sum(rewards) / (len(rewards) + 1e-4))
        self.successful = set()
        window = self.rules.pacer_window
        if self.clock >= 2 * window and self.clock % window == 0:
            before = sum(self.history[-2 * window : -window])
            change = abs(sum(self.history[-window:]) - before)
            if change <= 0.1 * before:
                self.threshold, self.moves = min(100, self.threshold + 5), self.moves + 1
            elif change >= 5 * before:
                self.threshold, self.moves = max(5, self.threshold - 5), self.moves + 1
        self.exploration = max(
            self.exploration * self.rules.exploration_decay, self.rules.exploration_min
        )

    def preferred(self):
        ranked = sorted(self.duration.values())
        rank = min(int(len(ranked) * self.threshold / 100), len(ranked) - 1)
        return ranked[rank] if self.threshold < 100 else math.inf

    def scores(self):
        rewards = sorted(reward for reward in self.reward.values() if reward > 0)
        low, top = 0.999 * rewards[0], rewards[-1]
        clip = rewards[min(int(len(rewards) * self.rules.clip_quantile), len(rewards) - 1)]
        scores, preferred = {}, self.preferred()
        for client in self.count:
            score = (min(self.reward[client], clip) - low) / max(top - low, 1e-4)
            score += math.sqrt(0.1 * math.log(self.clock) / self.stamp[client])
            if self.duration[client] > preferred:
                score *= (preferred / self.duration[client]) ** 2
            scores[client] = abs(score) if self.rules.formula == "fedscale" else score
        return scores

    def feedback(self, client, reward, stamp):
        self.reward[client], self.stamp[client] = reward, stamp
        self.count[client] = self.count.get(client, 0) + 1
        self.successful.add(client)


def a_program(preset, population, durations):
    rules = PRESETS[preset]
    sizes = dict(zip(population.ids.tolist(), population.sizes.tolist(), strict=True))
    return Program(rules, sizes, durations, rules.preference, rules.exploration)


def column(selector, name):
    """Return the clients whose flag is set in a selector's state."""
    state = selector.state()
    ids = json.loads(state["clients"].tobytes())
    return [client for client, flag in zip(ids, state[name].tolist(), strict=True) if flag]


def reports_of(cohort, number, seed, make_report):
    """Return the reports of most clients; utilities are level, leap or vary."""
    generator = stream(seed, "losses", round=number)
    level = (1.0, 1.0, 1.0, 5000.0, 1.0)[number // 20 % 5]
    return [
        make_report(
            client, round=number, num_examples=50, loss=level * loss, squared_loss=level * loss
        )
        for client, loss, silent in zip(
            cohort, 1 + generator.random(99), generator.random(99) < 0.1, strict=False
        )
        if not silent
    ]


def check_the_draw(selector, program, context, cohort):
    wanted = int(PLACES * program.rules.overcommit)
    seconds, preferred = np.array([*program.duration.values()]), program.preferred()
    standing = selector._standing(context, wanted, seconds, preferred)
    names = context.population.names
    got = dict(zip(names(standing.explored), standing.utilities.tolist(), strict=True))
    assert got == pytest.approx(program.scores(), rel=1e-9, abs=1e-12)
    shown = cohort.why["preferred_duration_s"]
    assert (math.inf if shown is None else shown) == preferred
    window = program.rules.pacer_window
    in_window = program.history[program.clock // window * window :]
    assert selector._pacer.current == pytest.approx(sum(in_window))
    unexplored = len(context.population) - len(program.count)
    exploited = column(selector, "exploited")
    if program.rules.formula == "fedscale":
        places = min(wanted - int(wanted * program.exploration), len(program.count))
        assert len(exploited) == places
        drawn = places + min(unexplored, wanted - places)
        assert len(cohort) == min(PLACES, drawn)
        assert len(column(selector, "idle")) == max(0, drawn - PLACES)
    elif unexplored:
        assert len(exploited) == min(int(wanted * (1 - program.exploration)), len(program.count))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("preset", PROGRAMS)
def test_a_preset_keeps_the_books_of_its_program(preset, seed, make_report):
    generator = stream(seed, "made")
    ids = [f"c{i:02d}" for i in range(CLIENTS)]
    sizes = generator.integers(32, 200, size=CLIENTS).tolist()
    population = Population.of(dict(zip(ids, sizes, strict=True)))
    durations = dict(zip(ids, generator.lognormal(size=CLIENTS).tolist(), strict=True))
    selector, program = (
        Oort(preset=preset, durations=durations),
        a_program(preset, population, durations),
    )
    for number in range(150):
        context = a_context(population, round=number, clients_per_round=PLACES, seed=seed)
        cohort = selector.draw(context)
        guided = number >= program.rules.warm_up_rounds
        if guided:
            program.begin()
            check_the_draw(selector, program, context, cohort)
            program.exploited = column(selector, "exploited")
        idle = column(selector, "idle")
        reports = reports_of(cohort.clients, number, seed, make_report)
        selector.refine(reports, context)

        rewards = {r.client_id: 50 * math.sqrt(r.squared_loss) for r in reports}
        for client, reward in rewards.items():
            program.feedback(client, reward, number + 1)
        for client in idle:
            mean = sum(rewards.values()) / max(1, len(rewards))
            program.feedback(client, mean, number + (2 if preset == "fedscale" else 1))
    assert program.moves >= 2
    assert not column(selector, "idle")
    assert len(program.history) == 150 - program.rules.warm_up_rounds


def test_clients_too_slow_to_run_are_explored_with_the_mean_utility(make_context, make_report):
    population = Population.of({f"c{i:02d}": 50 for i in range(20)})
    durations = {client: 1.0 + i for i, client in enumerate(population.ids.tolist())}
    selector = Oort(preset="fedscale", durations=durations, penalty=0.0)
    context = make_context(population, round=1, clients_per_round=10)

    cohort = selector.draw(context)
    idle = column(selector, "idle")
    losses = dict(zip(cohort.clients, range(1, 11), strict=True))
    selector.refine(
        [make_report(c, round=1, num_examples=2, squared_loss=losses[c] ** 2) for c in losses],
        context,
    )
    later = selector.draw(make_context(population, round=2, clients_per_round=10))

    assert len(idle) == 3
    assert min(durations[c] for c in idle) > max(durations[c] for c in cohort.clients)
    assert not {*idle, *cohort.clients} & {*later.why["explored"]}
    utility = dict(zip(population.ids.tolist(), selector._memory["utility"].tolist(), strict=True))
    assert [utility[c] for c in idle] == [2 * 5.5] * 3


def test_the_smallest_cohort_of_fedscale_may_be_smaller_than_asked_for():
    assert Oort().smallest_cohort(10) == Oort(preset="oort-repo").smallest_cohort(10) == 10
    assert Oort(preset="fedscale").smallest_cohort(10) == 13 - 11
    assert Oort(preset="fedscale", exploration=0.0, exploration_min=0.0).smallest_cohort(10) == 10
