"""Between training and upload: who is kept, with which weights, and what that costs."""

import json
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from made_updates import an_update

from terrafl.algorithms.means import mean_of_given_weights, weighted_mean
from terrafl.defences import Guard
from terrafl.errors import TerraflError
from terrafl.federation.state import RunState
from terrafl.seeds import stream
from terrafl.selection import Cohort, Random, Selector
from terrafl.simulation.local_training import LocalTraining

TRAINING = LocalTraining(learning_rate=0.1, epochs=1, batch_size=4)


@dataclass
class Scripted(Selector):
    """Draw everybody; keep and refine as the test says, and remember what was heard."""

    name: ClassVar[str] = "scripted"
    needs: ClassVar = frozenset({"update_norm"})

    first: Cohort = field(default_factory=lambda: Cohort.of("abc"))
    kept: Cohort | None = None
    later: Cohort = field(default_factory=Cohort)
    heard: list = field(default_factory=list)
    contexts: list = field(default_factory=list)

    def draw(self, context):
        self.contexts.append(("draw", context))
        return self.first

    def keep(self, reports, context):
        self.heard.append(("keep", [report.client_id for report in reports]))
        self.contexts.append(("keep", context))
        return self.kept

    def refine(self, reports, context):
        self.heard.append(("refine", [report.client_id for report in reports]))
        self.contexts.append(("refine", context))
        return self.later if context.iteration == 1 else Cohort()


@pytest.fixture
def three(federation, examples):
    """Return clients a, b and c with 5, 9 and 12 examples."""
    return federation([examples(n, seed=n) for n in (5, 9, 12)])


def test_nobody_is_dropped_by_default_and_the_bytes_are_those_of_random(three, play):
    usual, scripted = (play(three, training=TRAINING, selector=s) for s in (Random(), Scripted()))

    assert scripted.state.model.tobytes() == usual.state.model.tobytes()
    assert [e for e in scripted.events if e["event"] != "evaluation"] == [
        e for e in usual.events if e["event"] != "evaluation"
    ]


def test_the_clients_kept_are_averaged_and_heard_and_alone_upload_their_model(three, play, locally):
    selector = Scripted(kept=Cohort.of("ca", {"event": "kept two"}))

    played = play(three, training=TRAINING, selector=selector)

    a, _, c = locally(three, played.initial, TRAINING, clients="abc")
    expected = weighted_mean(a, [an_update("a", a, 5), an_update("c", c, 12)])
    assert played.state.model.tobytes() == expected.tobytes()
    assert selector.heard == [("keep", ["a", "b", "c"]), ("refine", ["a", "c"])]
    assert [e["clients"] for e in played.of("updates")] == [["a", "c"]]
    assert played.of("kept two") == [{"event": "kept two", "round": 0}]
    costs, model = played.state.costs, 4 * played.layout.size
    assert (costs.client_updates, costs.samples_trained) == (3, 26)
    # Everybody reports its size and norm; two send their model.
    assert costs.bytes_up == 3 * 16 + 2 * model
    assert costs.bytes_down == 3 * model
    assert costs.reports_refused == 0


def test_keeping_nobody_changes_nothing_and_is_written_down(three, play):
    played = play(three, training=TRAINING, selector=Scripted(kept=Cohort()))

    assert played.state.model.tobytes() == played.initial.tobytes()
    assert [e["reason"] for e in played.of("not aggregated")] == ["the selector chose nobody"]
    assert played.state.costs.bytes_up == 3 * 16


@pytest.mark.parametrize("choices", [{"first": Cohort()}, {"kept": Cohort()}], ids=["draw", "keep"])
def test_ten_empty_choices_in_a_row_stop_the_run(three, play, choices):
    nine = play(three, training=TRAINING, selector=Scripted(**choices), num_rounds=9)
    assert len(nine.of("not aggregated")) == 9

    with pytest.raises(TerraflError, match="it chose nobody 10 times, last in round 10"):
        play(three, training=TRAINING, selector=Scripted(**choices), num_rounds=11)


def test_an_invalid_report_is_not_heard_and_is_refused_by_the_intake(three, play):
    absurd = LocalTraining(learning_rate=1e38, epochs=5, batch_size=1)
    selector = Scripted(kept=Cohort())

    played = play(three, training=absurd, selector=selector)

    assert selector.heard == [("keep", []), ("refine", [])]
    assert len(played.of("refused")) == 3
    assert played.of("not aggregated") == []


@pytest.mark.parametrize("given_by", ["draw", "keep"])
def test_given_weights_scale_the_differences(three, play, locally, given_by):
    weights = {"a": 0.25, "b": 0.0, "c": 2.5}
    given = Cohort.weighted(weights)
    selector = Scripted(first=given) if given_by == "draw" else Scripted(kept=given)

    played = play(three, training=TRAINING, selector=selector)

    start = played.initial.astype(np.float64)
    local = locally(three, played.initial, TRAINING, clients="abc")
    steps = [w * (v - start) for w, v in zip(weights.values(), local, strict=True)]
    assert played.state.model == pytest.approx(start + sum(steps), abs=1e-6)
    assert not np.allclose(played.state.model, weighted_mean(start, updates_of(local, weights)))
    (averaged,) = played.of("averaged")
    assert dict(zip(averaged["clients"], averaged["weights"], strict=True)) == weights
    (cohort,) = played.of("cohort")
    assert cohort.get("weights") == ([0.25, 0.0, 2.5] if given_by == "draw" else None)


def test_a_guard_that_caps_sizes_leaves_given_weights_alone(three, play):
    given = {"a": 0.5, "b": 0.5, "c": 0.5}
    guard = Guard(size_cap=0.5, clip=0, quarantine=0)
    runs = [
        play(three, selector=Scripted(first=cohort), defences={"guard": guard})
        for cohort in (Cohort.weighted(given), Cohort.of("abc"))
    ]

    assert [e["weights"] for e in runs[0].of("averaged")] == [[0.5, 0.5, 0.5]]
    assert all({e["action"] for e in run.of("guard")} == {"capped"} for run in runs)


def updates_of(vectors, weights):
    pairs = zip(vectors, weights.items(), strict=True)
    return [an_update(client, vector, weight) for vector, (client, weight) in pairs]


def test_the_mean_of_given_weights_is_the_formula_over_blocks():
    draw = np.random.default_rng(0)
    received, *models = draw.normal(size=(4, 40_000)).astype(np.float32)
    weights = {"a": 0.5, "b": 1.25, "c": 0.1}

    got = mean_of_given_weights(received, updates_of(models, weights))

    exact = received.astype(np.float64)
    for model, weight in zip(models, weights.values(), strict=True):
        exact = exact + weight * (model.astype(np.float64) - received)
    assert got.dtype == np.float32
    assert got == pytest.approx(exact, rel=1e-6)


def test_kept_clients_have_the_weights_and_draws_that_they_were_drawn_with(three, play, locally):
    drawn = Cohort(("a", "b", "c"), (1, 1, 3))
    played = play(three, training=TRAINING, selector=Scripted(first=drawn, kept=Cohort.of("bc")))
    weighted = Scripted(first=Cohort.weighted({"a": 9.0, "b": 1.0, "c": 0.5}), kept=Cohort.of("bc"))

    _, b, c = locally(three, played.initial, TRAINING, clients="abc")
    expected = weighted_mean(b, [an_update("b", b, 9), an_update("c", c, 3 * 12)])
    assert played.state.model.tobytes() == expected.tobytes()
    (averaged,) = play(three, training=TRAINING, selector=weighted).of("averaged")
    assert (averaged["clients"], averaged["weights"]) == (["b", "c"], [1.0, 0.5])


def test_each_call_has_its_own_iteration_and_stream(three, play):
    selector = Scripted(later=Cohort.of("a"))

    play(three, selector=selector, num_rounds=2, seed=7)

    seen = [(method, c.round, c.iteration) for method, c in selector.contexts]
    one_round = [("draw", 0), ("keep", 0), ("refine", 1), ("keep", 1), ("refine", 2)]
    assert seen == [(method, r, t) for r in (0, 1) for method, t in one_round]
    assert {c.progress for _, c in selector.contexts} == {0.0, 0.5}
    numbers = [c.generator.random() for _, c in selector.contexts]
    assert len(set(numbers)) == len(numbers)
    assert numbers[0] == stream(7, "selection", round=0).random()
    assert numbers[5] == stream(7, "selection", round=1).random()


@pytest.mark.parametrize("weights", [(), (0.5, 1.5)])
def test_given_weights_survive_a_restart_in_the_middle_of_a_round(weights):
    cohort = Cohort(("a", "b"), (1, 2), weights=weights)
    state = RunState(np.zeros(2, dtype=np.float32), cohort=cohort)

    checkpoint = state.to_checkpoint({}, {})
    stored = type(checkpoint)(json.loads(json.dumps(checkpoint.values)), checkpoint.arrays)

    assert RunState.from_checkpoint(stored, {}).cohort == cohort
