"""What is read from journals: real ones, old ones, and ones that are still being written."""

import json

import pytest

from terrafl.errors import RunFolderError
from terrafl.reports.trace import Trace, read_trace
from terrafl.runs import RunFolder, read_events


def a_trace(*events):
    trace = Trace()
    for event in events:
        trace.add(event)
    return trace


def a_split(clients, tau, signal="update_norm", **other):
    rows = [{"id": c, signal: v, "num_examples": 10} for c, v in clients]
    return {"event": "split", "clients": rows, "k_q1": 1, "k_q3": 2, "tau": tau} | other


def test_a_real_journal_tells_who_trained_and_why(real_runs):
    folder = RunFolder(real_runs / "terraform-s0")

    trace = read_trace(folder)

    events = list(read_events(folder.journal))
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
    found = [(e.round, e.costs["client_updates"], e.accuracy) for e in trace.evaluations]
    assert found == curve


def test_seconds_rise_and_count_selection_and_training(real_runs):
    folder = RunFolder(real_runs / "terraform-s1")

    seconds = read_trace(folder).seconds()

    events = list(read_events(folder.timings))
    spent = sum(e["train_s"] for e in events if e["event"] == "iteration")
    spent += sum(e["seconds"] for e in events if e["event"] == "selection")
    assert seconds == sorted(seconds)
    assert seconds[-1] == pytest.approx(spent)


def test_an_iteration_that_was_done_twice_counts_once():
    trace = a_trace({"event": "evaluation", "round": 0, "accuracy": 0.5})
    for train_s in (7.0, 2.0):
        trace.time({"event": "iteration", "round": 0, "iteration": 0, "train_s": train_s})

    assert trace.seconds() == [2.0]


def test_an_old_journal_without_clients_norms_or_costs_is_read():
    trace = a_trace(
        {"event": "federation", "clients": 50, "examples": 1000},
        {"event": "cohort", "round": 0, "iteration": 0, "clients": ["b", "a"]},
        {"event": "evaluation", "round": 0, "accuracy": 0.5, "client_updates": 2},
        {"event": "something new", "round": 0},
    )

    assert trace.federation.ids == ["b", "a"]
    assert not trace.federation.is_listed
    assert trace.steps[0].values == [None, None]
    assert trace.seconds() == []


def test_who_trained_but_was_refused_stays_at_the_end_of_a_split():
    trace = a_trace(
        {"event": "cohort", "round": 0, "iteration": 0, "clients": ["a", "b", "c"]},
        {"event": "refused", "round": 0, "iteration": 0, "client": "a", "reason": "late"},
        a_split([("c", 1.0), ("b", 2.0)], tau=1),
    )

    assert trace.steps[0].clients == [2, 1, 0]
    assert trace.steps[0].values == [1.0, 2.0, None]
    assert trace.participation() == [1, 1, 1]
    assert trace.refused[0].reason == "late"


def test_a_split_by_loss_keeps_its_signal():
    trace = a_trace(
        {"event": "cohort", "round": 0, "iteration": 0, "clients": ["a", "b"]},
        a_split([("b", 0.1), ("a", 0.2)], tau=1, signal="loss"),
    )

    assert trace.steps[0].split.signal == "loss"


def test_a_client_without_test_data_has_no_accuracy():
    trace = a_trace({"event": "fairness", "round": 3, "tested": [4, 0], "correct": [1, 0]})

    assert trace.served == [0.25, None]


def test_a_damaged_event_is_named(tmp_path):
    (tmp_path / "journal.jsonl").write_text(json.dumps({"event": "cohort", "round": 0}) + "\n")

    with pytest.raises(RunFolderError, match=r"journal\.jsonl, line 1, must be an event"):
        read_trace(RunFolder(tmp_path))
