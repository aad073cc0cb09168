"""The guard: each measure by its formula, evaluated slowly, and what it does to attacks."""

import json
import statistics
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_contexts import a_context
from made_updates import an_update

from terrafl.defences import Guard, Iteration
from terrafl.errors import ConfigurationError
from terrafl.records import Cohort, Population
from terrafl.selection import Terraform
from terrafl.selection.final_layer import FinalLayer

HEAD = FinalLayer(weight=slice(2, 6), bias=slice(6, 8), num_classes=2)
RECEIVED = np.linspace(-1, 1, 8, dtype=np.float32)
OFF = {"recompute": False, "clip": 0, "size_cap": 0, "retrainings": 0, "quarantine": 0}


def sent(client, update, size=10, *, round=0, iteration=0, **fields):
    """Return what a client sends: a model, and a report with the true norm of its head."""
    update = np.broadcast_to(np.asarray(update, dtype=np.float64), 8)
    vector = (RECEIVED + update).astype(np.float32)
    norm = float(np.linalg.norm((vector.astype(float) - RECEIVED)[2:]))
    update = an_update(
        client,
        vector,
        size,
        num_examples=size,
        round=round,
        iteration=iteration,
        **{"update_norm": norm} | fields,
    )
    return update, update.report


@dataclass
class Seen:
    models: list
    reports: list
    events: tuple


def inspected(guard, *pairs, needs=("update_norm",), averaging="size", known_sizes=None):
    reports = [report for _, report in pairs]
    sizes = {report.client_id: report.num_examples for report in reports} | (known_sizes or {})
    iteration = Iteration(
        round=reports[0].round,
        iteration=reports[0].iteration,
        received=RECEIVED,
        cohort=Cohort.of(sizes),
        needs=needs,
        averaging=averaging,
        population=Population.of(sizes),
        final_layer=HEAD,
    )
    seen = guard.inspect(iteration, [replace(u, report=report) for u, report in pairs])
    heard = [update.report for update in seen.updates if update.heard]
    return Seen([u for u in seen.updates if len(u.vector)], heard, tuple(seen.events))


def actions(seen):
    return [(event.action, event.client) for event in seen.events]


def length(model):
    return float(np.linalg.norm(model.vector.astype(float) - RECEIVED))


def test_with_everything_off_nothing_changes():
    pairs = [sent("a", 1.0), sent("b", 50.0, size=10**9), sent("c", 0.0)]

    seen = inspected(Guard(**OFF), *pairs)

    assert [u.vector is p[0].vector for u, p in zip(seen.models, pairs, strict=True)] == [True] * 3
    assert [u.weight for u in seen.models] == [p[0].weight for p in pairs]
    assert seen.reports == [report for _, report in pairs]
    assert seen.events == ()


def test_a_long_update_is_shortened_to_a_multiple_of_the_median():
    pairs = [sent("a", 1.0), sent("b", -2.0), sent("c", 3.0), sent("d", 400.0)]

    seen = inspected(Guard(**OFF | {"clip": 2.0}), *pairs)

    lengths = [length(model) for model, _ in pairs]
    longest = 2.0 * statistics.median(lengths)
    assert actions(seen) == [("clipped", "d")]
    assert [length(m) for m in seen.models] == pytest.approx([*lengths[:3], longest], rel=1e-5)
    expected = RECEIVED + (longest / lengths[3]) * (pairs[3][0].vector.astype(float) - RECEIVED)
    assert seen.models[3].vector == pytest.approx(expected, rel=1e-5)
    assert all(m.vector is p[0].vector for m, p in zip(seen.models[:3], pairs, strict=False))


def test_the_median_runs_over_first_cohorts_of_the_newest_rounds():
    guard = Guard(**OFF | {"clip": 1.0, "memory": 2})
    inspected(guard, sent("a", 100.0), sent("b", 100.0))
    inspected(guard, sent("a", 1.0, round=1), sent("b", 2.0, round=1))
    inspected(guard, sent("b", 50.0, round=1, iteration=1))

    seen = inspected(guard, sent("a", 3.0, round=2), sent("b", 40.0, round=2))

    longest = statistics.median([1.0, 2.0, 3.0, 40.0]) * np.sqrt(8)
    assert [length(m) for m in seen.models] == pytest.approx([longest, longest], rel=1e-5)


def test_a_data_set_counts_for_at_most_a_multiple_of_the_median_size():
    pairs = [sent("a", 1.0, 10), sent("b", 1.0, 21), sent("c", 1.0, 30), sent("d", 1.0, 10**9)]

    seen = inspected(Guard(**OFF | {"size_cap": 1.5}), *pairs)

    most = int(1.5 * statistics.median([10, 21, 30, 10**9]))
    assert [r.num_examples for r in seen.reports] == [10, 21, 30, most]
    assert [m.weight for m in seen.models] == [10.0, 21.0, 30.0, float(most)]
    assert actions(seen) == [("capped", "d")]


def test_a_cap_leaves_the_weight_of_a_plain_average_alone():
    pairs = [sent("a", 1.0, 10), sent("b", 1.0, 10), sent("c", 1.0, 10**9)]

    seen = inspected(Guard(**OFF | {"size_cap": 1.0}), *pairs, averaging="plain")

    assert [m.weight for m in seen.models] == [m.weight for m, _ in pairs]
    assert [r.num_examples for r in seen.reports] == [10, 10, 10]


def test_a_client_drawn_twice_still_weighs_twice_under_the_cap():
    model, report = sent("c", 1.0, 10**6)
    twice = replace(model, weight=2.0 * 10**6)

    seen = inspected(
        Guard(**OFF | {"size_cap": 1.0}), sent("a", 1.0), sent("b", 1.0), (twice, report)
    )

    assert seen.models[2].weight == pytest.approx(20.0)


def test_sizes_that_the_server_knows_are_used_instead():
    guard = Guard(**OFF | {"known_sizes": True, "size_cap": 1.0})

    seen = inspected(
        guard, sent("a", 1.0, 10**9), sent("b", 1.0, 3), known_sizes={"a": 7, "b": 500}
    )

    assert [r.num_examples for r in seen.reports] == [7, 500]
    assert [m.weight for m in seen.models] == pytest.approx([7.0, 500.0])


def test_a_false_norm_is_replaced_by_that_of_the_update_and_written_down():
    liar, honest = sent("a", 1.0, update_norm=1e6), sent("b", 2.0)

    seen = inspected(Guard(**OFF | {"recompute": True}), liar, honest)

    true = float(np.linalg.norm((liar[0].vector.astype(float) - RECEIVED)[2:]))
    assert seen.reports[0].update_norm == pytest.approx(true)
    assert seen.reports[1].update_norm == pytest.approx(honest[1].update_norm)
    assert actions(seen) == [("corrected", "a")]


def test_what_is_measured_is_the_update_as_it_will_be_averaged():
    pairs = [sent("a", 1.0), sent("b", 1.0), sent("c", 80.0)]

    seen = inspected(Guard(**OFF | {"recompute": True, "clip": 2.0}), *pairs)

    assert seen.reports[2].update_norm == pytest.approx(2 * seen.reports[0].update_norm, rel=1e-5)
    assert actions(seen) == [("clipped", "c")]  # the norm it told was true of what it sent


def test_every_field_that_a_model_shows_is_measured_and_no_other():
    update = np.arange(8.0)
    needs = ("update_norm", "weight_norm", "bias_norm", "weight_update", "bias_update", "loss")

    seen = inspected(Guard(**OFF | {"recompute": True}), sent("a", update, loss=0.5), needs=needs)

    (report,) = seen.reports
    assert report.weight_update == pytest.approx(np.array([[2.0, 3], [4, 5]]), rel=1e-6)
    assert report.bias_update == pytest.approx([6.0, 7.0], rel=1e-6)
    assert report.weight_norm == pytest.approx(np.sqrt(4 + 9 + 16 + 25))
    assert report.bias_norm == pytest.approx(np.sqrt(36 + 49))
    assert report.update_norm == pytest.approx(np.sqrt(4 + 9 + 16 + 25 + 36 + 49))
    assert report.loss == 0.5


def test_a_report_without_a_model_is_believed_but_for_its_size():
    hidden = an_update("b", [], 10**9, num_examples=10**9, update_norm=123.0)

    seen = inspected(Guard(), sent("a", 1.0), (hidden, hidden.report))

    assert [m.client_id for m in seen.models] == ["a"]
    assert seen.reports[1].update_norm == 123.0
    assert seen.reports[1].num_examples < 10**9


def test_updates_that_are_hidden_do_not_make_the_others_look_long():
    pairs = [sent("a", 1.0), sent("b", 1.0)]
    hidden = [(replace(u, vector=u.vector[:0]), r) for u, r in (sent(n, 1.0) for n in "cdefg")]

    seen = inspected(Guard(clip=1.0), *pairs, *hidden)

    assert [length(m) for m in seen.models] == pytest.approx([length(m) for m, _ in pairs])
    assert len(seen.reports) == 7


def test_a_client_is_retrained_so_often_and_no_more_in_its_newest_draws():
    guard = Guard(**OFF | {"retrainings": 2, "window": 2})
    heard = []

    for round, iterations in enumerate([3, 1, 1, 2]):
        for iteration in range(iterations):
            seen = inspected(guard, sent("a", 1.0, round=round, iteration=iteration))
            heard.append(bool(seen.reports))
            assert len(seen.models) == 1

    # Retrained twice in round 0: silent from then on, in round 1 too; round 2 sees it forgotten.
    assert heard == [True, True, False, False, True, True, True]


def test_an_update_of_unusual_length_is_set_aside_when_asked_for():
    usual = [sent(f"{update}", update) for update in (0.8, 0.9, 1.0, 1.05, 1.1, 1.2)]
    odd = [sent("x", 30.0), sent("y", 0.0)]

    seen = inspected(Guard(**OFF | {"quarantine": 3.5}), *usual, *odd)

    logs = [np.log(length(m)) for m, _ in [*usual, odd[0]]]  # norm 0 has no logarithm
    middle = statistics.median(logs)
    spread = 1.4826 * statistics.median(abs(log - middle) for log in logs)
    assert abs(logs[-1] - middle) > 3.5 * spread
    assert max(abs(log - middle) for log in logs[:-1]) < 3.5 * spread
    assert actions(seen) == [("quarantined", "x"), ("quarantined", "y")]
    assert [m.vector.tobytes() for m in seen.models] == [m.vector.tobytes() for m, _ in usual]
    assert list(seen.reports) == [report for _, report in usual]


def test_too_few_updates_condemn_nobody():
    seen = inspected(Guard(**OFF | {"quarantine": 3.5}), sent("a", 1.0), sent("b", 1e6))

    assert len(seen.models) == 2


def test_when_everybody_sends_nothing_nothing_is_divided_by_it():
    guard = Guard(quarantine=3.5)

    seen = inspected(guard, *[sent(name, 0.0) for name in "abcdef"])

    assert len(seen.models) == 6
    assert all(np.array_equal(m.vector, RECEIVED) for m in seen.models)


def test_one_client_can_no_longer_switch_the_split_off():
    names = "abcdefghijklmno"
    honest = [sent(c, 1.0 + i / 10, size=100 + i) for i, c in enumerate(names[1:])]
    liar = sent("a", 1.0, size=2**40)

    literal = Terraform(eta=1).refine([report for _, report in [liar, *honest]], a_context())
    guarded = Terraform(eta=1).refine(inspected(Guard(), liar, *honest).reports, a_context())

    assert "empty_range" in literal.why
    assert "empty_range" not in guarded.why


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 2**40)), min_size=1, max_size=12),
    st.floats(0, 4),
    st.floats(0, 4),
)
def test_no_update_and_no_weight_ever_exceeds_its_bound(clients, clip, cap):
    pairs = [sent(f"{i:02}", update, size) for i, (update, size) in enumerate(clients)]
    guard = Guard(clip=clip, size_cap=cap, retrainings=0, quarantine=0)

    seen = inspected(guard, *pairs)

    median = statistics.median(length(model) for model, _ in pairs)
    if clip and median:
        assert all(length(m) <= clip * median * (1 + 1e-4) + 1e-5 for m in seen.models)
    if cap:
        most = max(1, cap * statistics.median(size for _, size in clients))
        assert all(r.num_examples <= most for r in seen.reports)
        assert all(m.weight <= most * (1 + 1e-12) for m in seen.models)
    assert [m.client_id for m in seen.models] == [m.client_id for m, _ in pairs]


def conversation(guard, rounds):
    """Play rounds of two iterations with one busy attacker; return all that comes out."""
    out = []
    for round in rounds:
        for iteration, clients in enumerate(("abcde", "ae")):
            pairs = [
                sent(c, 1.0 + ord(c) % 7 + round, size=10 + round, round=round, iteration=iteration)
                for c in clients
            ]
            seen = inspected(guard, *pairs)
            out.append(([m.vector.tolist() for m in seen.models], seen.reports, seen.events))
    return out


def test_a_guard_restored_from_json_goes_on_as_if_nothing_had_happened():
    whole, first, second = (Guard(clip=1.1, window=4, memory=3) for _ in range(3))
    expected = conversation(whole, range(8))

    before = conversation(first, range(5))
    second.restore(json.loads(json.dumps(first.state())))
    after = conversation(second, range(5, 8))

    assert before + after == expected
    assert second.state() == whole.state()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("clip", -1.0),
        ("clip", float("inf")),
        ("size_cap", float("nan")),
        ("retrainings", -1),
        ("window", 0),
        ("memory", 0),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_name(setting, value):
    with pytest.raises(ConfigurationError, match=f"^{setting} must be"):
        Guard(**{setting: value})
