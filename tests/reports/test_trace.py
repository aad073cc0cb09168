"""What is read from journals: real ones, old ones, and ones that are still being written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import RunFolderError
from terrafl.reports.figures import edges_of, heat_map
from terrafl.reports.trace import Trace, read_trace
from terrafl.runs import RunFolder, read_lines
from terrafl.runs.events import (
    Cohort,
    Costs,
    Evaluation,
    Fairness,
    Guarded,
    IterationTime,
    Refused,
    SelectionTime,
    Split,
    SplitClient,
    Updates,
)


def a_trace(*events):
    trace = Trace()
    for event in events:
        trace.add(event)
    return trace


def a_cohort(*clients, round=0, iteration=0):
    return Cohort(round=round, iteration=iteration, clients=clients)


def a_split(clients, tau, measure="update_norm"):
    rows = [SplitClient(client, value, 10) for client, value in clients]
    return Split(
        **{"round": 0, "iteration": 0, "measure": measure, "clients": rows, "tau": tau},
        **{"k_q1": 1, "k_q3": 2, "hard": [client for client, _ in clients[tau:]]},
    )


def an_evaluation(number, accuracy=0.5, **costs):
    return Evaluation(
        **{"round": number, "accuracy": accuracy, "accuracy_participating": accuracy},
        **{"loss": None, "costs": Costs(**costs)},
    )


def test_a_real_journal_tells_who_trained_and_why(real_runs):
    folder = RunFolder(real_runs / "terraform-s0")

    trace = read_trace(folder)

    events = list(read_lines(folder.journal))
    cohorts = [e for e in events if e["event"] == "cohort"]
    splits = [e for e in events if e["event"] == "split"]
    assert [(s.round, s.iteration) for s in trace.steps] == [
        (e["round"], e["iteration"]) for e in cohorts
    ]
    for step, split in zip(trace.steps, splits, strict=True):
        names = [trace.federation.ids[c] for c in step.clients]
        assert names == [row["id"] for row in split["clients"]]
        assert step.values == [row["update_norm"] for row in split["clients"]]
        assert names[step.split.tau :] == split["hard"]
    assert len(trace.federation.ids) == len(trace.served) == 20
    assert sum(trace.participation()) == folder.read_summary().client_updates


def test_a_real_journal_of_another_selector_has_norms_too(real_runs):
    trace = read_trace(RunFolder(real_runs / "random-s0"))

    assert all(value > 0 for step in trace.steps for value in step.values)
    assert not any(step.split for step in trace.steps)


def test_evaluations_are_those_of_the_summary(real_runs):
    folder = RunFolder(real_runs / "random-s1")

    trace = read_trace(folder)

    curve = [(p.round, p.client_updates, p.accuracy) for p in folder.read_summary().curve]
    points = [(e.round + 1, e.costs.client_updates, e.accuracy) for e in trace.evaluations]
    assert points == curve


def test_seconds_rise_and_count_selection_and_training(real_runs):
    folder = RunFolder(real_runs / "terraform-s1")

    seconds = read_trace(folder).seconds()

    events = list(read_lines(folder.timings))
    spent = sum(e["train_s"] for e in events if e["event"] == "iteration")
    spent += sum(e["seconds"] for e in events if e["event"] == "selection")
    assert seconds == sorted(seconds)
    assert seconds[-1] == pytest.approx(spent)


def test_an_iteration_that_was_done_twice_counts_once():
    trace = a_trace(an_evaluation(0))
    for train_s in (7.0, 2.0):
        trace.add(IterationTime(round=0, iteration=0, train_s=train_s, clients_s=()))

    assert trace.seconds() == [2.0]


@given(
    st.sets(st.integers(0, 12)),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2), st.integers(1, 9)), min_size=1),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_seconds_are_those_of_all_rounds_up_to_an_evaluation(evaluated, spent):
    trace = a_trace(*map(an_evaluation, sorted(evaluated)))
    for number, iteration, seconds in spent:
        trace.add(SelectionTime(round=number, iteration=iteration, seconds=seconds))

    last = {(number, iteration): seconds for number, iteration, seconds in spent}
    assert trace.seconds() == [
        sum(seconds for (number, _), seconds in last.items() if number <= end)
        for end in sorted(evaluated)
    ]


def test_an_old_journal_without_clients_norms_or_costs_is_read(tmp_path):
    events = [
        {"event": "federation", "clients": 50, "examples": 1000},
        {"event": "cohort", "round": 0, "iteration": 0, "clients": ["b", "a"]},
        {"event": "evaluation", "round": 0, "accuracy": 0.5, "client_updates": 2},
        {"event": "something new", "round": 0},
        {"event": "something newer"},
    ]
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))

    trace = read_trace(RunFolder(tmp_path))

    assert trace.federation.ids == ["b", "a"]
    assert not trace.federation.listed
    assert trace.steps[0].values == [None, None]
    assert trace.seconds() == []


def test_who_trained_but_was_refused_stays_at_the_end_of_a_split():
    trace = a_trace(
        a_cohort("a", "b", "c"),
        Refused(round=0, iteration=0, client="a", reason="late"),
        a_split([("c", 1.0), ("b", 2.0)], tau=1),
    )

    assert trace.steps[0].clients == [2, 1, 0]
    assert trace.steps[0].values == [1.0, 2.0, None]
    assert trace.participation() == [1, 1, 1]
    assert trace.refused == [("late", "a")]


def test_what_the_guard_did_is_counted_by_action():
    action = {"client": "a", "action": "clipped", "reason": "norm 7.31 is over 2.4"}
    trace = a_trace(Guarded(round=0, iteration=0, **action))

    assert [reason for reason, _ in trace.refused] == ["guard: clipped"]


def test_a_split_by_loss_keeps_its_measure():
    trace = a_trace(a_cohort("a", "b"), a_split([("b", 0.1), ("a", 0.2)], tau=1, measure="loss"))

    assert trace.steps[0].split.measure == "loss"


def test_a_client_without_test_data_has_no_accuracy():
    trace = a_trace(Fairness(round=3, tested=[4, 0], correct=[1, 0]))

    assert trace.served == [0.25, None]


def test_what_a_server_cannot_know_is_empty(a_federation):
    trace = a_trace(
        a_federation("ab", sizes=[3, 4], distances=None, labels=None),
        a_cohort("b", "late"),
        Fairness(round=0, tested=None, correct=None),
    )

    assert trace.federation.ids == ["a", "b", "late"]
    assert [trace.federation.size(client) for client in range(3)] == [3, 4, None]
    assert (trace.federation.labels, trace.served) == ((), [])
    assert edges_of(trace, trace.steps[0]).tolist() == [0, 0.8, 1]
    assert heat_map(trace, "participation").shape == (3, 1)


def test_events_out_of_order_are_ignored():
    updates = Updates(round=0, iteration=0, clients=["a"], update_norm=[1.0])
    split = a_split([("a", 1.0), ("b", 2.0)], tau=1)

    trace = a_trace(updates, split, a_cohort("a", round=1), updates, split, a_cohort("b"))
    for number in (1, 0):
        trace.add(an_evaluation(number))

    assert [(step.round, step.values, step.split) for step in trace.steps] == [(1, [None], None)]
    assert [evaluation.round for evaluation in trace.evaluations] == [1]


def test_a_damaged_event_is_named(tmp_path):
    (tmp_path / "journal.jsonl").write_text(json.dumps({"event": "cohort", "round": 0}) + "\n")

    with pytest.raises(RunFolderError, match=r"journal\.jsonl, line 1, .* iteration must be there"):
        read_trace(RunFolder(tmp_path))
