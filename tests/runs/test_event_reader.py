"""Journals as typed events: what was written comes back, and damage is named."""

import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from types import NoneType
from typing import get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import RunFolderError
from terrafl.runs import Journal, read_events
from terrafl.runs.events import (
    Attackers,
    Averaged,
    Cohort,
    Costs,
    Decision,
    Drift,
    Evaluation,
    EvaluationTime,
    Event,
    Fairness,
    Federation,
    Guarded,
    IterationTime,
    NotAggregated,
    Refused,
    SelectionTime,
    Split,
    SplitClient,
    Updates,
    to_plain,
)

HERE = {"round": 3, "iteration": 1}
FEDERATION = Federation(
    **{"clients": 2, "examples": 30, "size_min": 10, "size_median": 15.0, "size_max": 20},
    **{"mean_classes": 1.5, "mean_distance": 0.5, "redraws": 0, "repaired": 1, "schema": 2},
    **{"ids": ("a", "é"), "sizes": (10, 20), "distances": (0.5, 0.25), "labels": (0, 7)},
)
EVENTS = (
    FEDERATION,
    replace(FEDERATION, ids=(), sizes=(), distances=(), labels=()),  # more than 10,000 clients
    replace(FEDERATION, distances=None, labels=None, mean_classes=None),  # on Flower
    Attackers(attack="sign-flip", clients=("a",)),
    Drift(round=1, changes={"torch": ("2.1", "2.2"), "rounds": (None, "3")}),
    Decision(name="drawn", round=2, details={"phase": "warm-up", "pool": [1, -2.5, None]}),
    Cohort(**HERE, clients=("a", "b")),
    Cohort(**HERE, clients=("a", "b"), draws=(1, 2), weights=(0.5, 1.5)),
    Updates(**HERE, clients=("a",), update_norm=(3.5,)),
    Refused(**HERE, client="a", reason="late"),
    Guarded(**HERE, client="a", action="clipped", reason="too long"),
    Averaged(**HERE, clients=("a", "b"), weights=(1.0, 2.0)),
    NotAggregated(**HERE, reason="too few"),
    Evaluation(
        **{"round": 3, "accuracy": 0.5, "accuracy_participating": 0.25, "loss": None},
        costs=Costs(client_updates=7, bytes_up=2**40),
    ),
    Fairness(round=3, tested=(4, 0), correct=(1, 0)),
    Fairness(round=3, tested=None, correct=None),
    SelectionTime(**HERE, seconds=0.5),
    IterationTime(**HERE, train_s=1.5, clients_s=(0.5, 1.0)),
    EvaluationTime(round=3, seconds=0.25),
)
SPLIT = {
    **{"event": "split", "round": 0, "iteration": 1, "signal": "gradient"},
    "clients": [
        {"id": "b", "update_norm": 0.5, "num_examples": 7},
        {"id": "a", "update_norm": 1.5, "num_examples": 9},
    ],
    **{"k_q1": 0, "k_q3": 2, "tau": 1, "hard": ["a"], "empty_range": True},
}


@pytest.fixture
def journal(tmp_path):
    """Write a journal of plain events."""
    path = tmp_path / "journal.jsonl"

    def written(*events):
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        return path

    return written


def test_every_event_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    for event in EVENTS:
        journal.append(event)
    journal.close()

    assert list(read_events(path)) == list(EVENTS)


def test_every_type_of_event_is_among_them():
    names = {type(event).__name__ for event in EVENTS} | {"Split"}

    assert names == {subclass.__name__ for subclass in Event.__subclasses__()}


def test_terraforms_decision_is_a_split(journal):
    (split,) = read_events(journal(SPLIT))

    assert split == Split(
        **{"round": 0, "iteration": 1, "signal": "gradient", "measure": "update_norm"},
        **{"clients": (SplitClient("b", 0.5, 7), SplitClient("a", 1.5, 9)), "hard": ("a",)},
        **{"k_q1": 0, "k_q3": 2, "tau": 1, "empty_range": True},
    )


def test_a_split_of_an_old_journal_lacks_its_signal_and_hard_clients(journal):
    old = {key: SPLIT[key] for key in SPLIT if key not in ("signal", "hard", "empty_range")}

    (split,) = read_events(journal(old))

    assert (split.signal, split.hard, split.empty_range) == ("", ("a",), False)


def test_another_selectors_split_is_a_decision(journal):
    (event,) = read_events(journal({"event": "split", "round": 4, "into": 3}))

    assert event == Decision(name="split", round=4, details={"into": 3})


def test_keys_and_events_of_newer_versions_are_ignored(journal):
    cohort = to_plain(Cohort(**HERE, clients=("a",)))

    path = journal(cohort | {"mood": ["good"]}, {"event": "weather", "sun": True})

    assert list(read_events(path)) == [Cohort(**HERE, clients=("a",))]


def test_keys_that_old_journals_lack_have_a_default(journal):
    path = journal(
        {"event": "federation", "clients": 50},
        {"event": "evaluation", "round": 0, "accuracy": 0.5, "client_updates": 2},
        {"event": "fairness", "round": 0},
    )

    federation, evaluation, fairness = read_events(path)

    assert (federation.schema, federation.ids, federation.examples) == (1, (), None)
    assert evaluation.accuracy_participating == 0.5
    assert evaluation.costs == Costs(client_updates=2)
    assert fairness.tested == fairness.correct == ()


DAMAGE = [
    (Cohort(**HERE, clients=("a",)), {"round": 10**18}, "round must be an integer from 0 to"),
    (Cohort(**HERE, clients=("a",)), {"round": "²"}, r"round must be .*; got '\\xb2'"),
    (Cohort(**HERE, clients=("a",)), {"round": True}, "round must be an integer"),
    (Cohort(**HERE, clients=("a",)), {"iteration": -1}, "iteration must be an integer"),
    (Cohort(**HERE, clients=("a",)), {"clients": "abc"}, "clients must be a list; got 'abc'"),
    (Cohort(**HERE, clients=("a",)), {"clients": [3]}, "clients must be a text; got 3"),
    (Cohort(**HERE, clients=("a",)), {"clients": ["\ud800"]}, "clients must be a text"),
    (Cohort(**HERE, clients=("a",)), {"clients": {}}, "clients must be a list; got an object"),
    (Cohort(**HERE, clients=("a",)), {"draws": [1, 2]}, "its lists must have one length"),
    (Cohort(**HERE, clients=("a",)), {"event": 3}, "event must be a text; got 3"),
    (Updates(**HERE, clients=("a",), update_norm=(1.0,)), {"update_norm": []}, "one length"),
    (Averaged(**HERE, clients=("a",), weights=(1.0,)), {"weights": [1.0, 2.0]}, "one length"),
    (Averaged(**HERE, clients=("a",), weights=(1.0,)), {"weights": [10**400]}, "finite number"),
    (FEDERATION, {"clients": 3}, "one length; they have ids 2"),
    (FEDERATION, {"ids": ["a", "a"]}, "different ids 1"),
    (FEDERATION, {"sizes": [1, -2]}, "sizes must be an integer"),
    (FEDERATION, {"examples": 1.5}, "examples must be an integer"),
    (EVENTS[13], {"accuracy": "good"}, "accuracy must be a finite number of at most 1"),
    (EVENTS[13], {"accuracy": 1.5}, "accuracy must be a finite number of at most 1"),
    (EVENTS[13], {"client_updates": -5}, "client_updates must be an integer"),
    (EVENTS[13], {"client_updates": None}, "client_updates must be an integer"),
    (EVENTS[14], {"correct": [5, 0]}, "correct must be at most tested"),
    (EVENTS[4], {"changes": {"torch": "2.2"}}, "changes must be a list"),
    (EVENTS[5], {"round": 10**18}, "round must be an integer"),
]


@pytest.mark.parametrize(("event", "damage", "reason"), DAMAGE)
def test_an_invalid_value_is_named_with_its_line(journal, event, damage, reason):
    path = journal(to_plain(EVENTS[3]), to_plain(event) | damage)

    with pytest.raises(RunFolderError, match=rf"journal\.jsonl, line 2, .*{reason}"):
        list(read_events(path))


@pytest.mark.parametrize(
    "damage",
    [
        *({"tau": 3}, {"tau": -1}, {"tau": "1"}, {"tau": None}, {"k_q3": 10**18}),
        *({"clients": []}, {"clients": [1]}, {"clients": [{}]}, {"clients": [{"id": "a"}]}),
        *({"clients": 3}, {"clients": SPLIT["clients"][:1]}, {"hard": [1]}, {"iteration": []}),
        {"clients": [{"id": "a", "update_norm": 1e200, "num_examples": 2}] * 2},
    ],
)
def test_an_invalid_split_is_named(journal, damage):
    with pytest.raises(RunFolderError, match=r"journal\.jsonl, line 1, must be an event"):
        list(read_events(journal(SPLIT | damage)))


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", "1" * 5000, "[" * 5000])
def test_numbers_and_depths_that_json_should_not_hold_are_named(tmp_path, value):
    path = tmp_path / "journal.jsonl"
    path.write_text(f'{{"event":"evaluation","round":0,"accuracy":{value}}}\n')

    with pytest.raises(RunFolderError, match=r"journal\.jsonl, line 1, must be an event"):
        list(read_events(path))


def a_value_of(hint):
    options = [part for part in get_args(hint) if part is not NoneType]
    return options[0] if NoneType in get_args(hint) else hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.sampled_from([*map(to_plain, EVENTS), SPLIT]), st.data())
@settings(derandomize=True, deadline=None, max_examples=400)
def test_whatever_stands_in_a_key_is_read_as_its_type_or_refused(tmp_path_factory, plain, data):
    key = data.draw(st.sampled_from(sorted(plain)))
    path = tmp_path_factory.mktemp("run") / "journal.jsonl"
    path.write_text(json.dumps(plain | {key: data.draw(JSON)}) + "\n")

    try:
        events = list(read_events(path))
    except RunFolderError:
        return
    for event in events:
        hints = get_type_hints(type(event))
        for field in fields(event):
            value, hint = getattr(event, field.name), a_value_of(hints[field.name])
            assert value is None or not isinstance(hint, type) or type(value) is hint


def test_a_last_line_without_an_end_is_left_out(journal):
    path = journal(to_plain(EVENTS[3]))
    with path.open("a") as file:
        file.write('{"event":"cohort"')

    assert list(read_events(path)) == [EVENTS[3]]


def test_reading_starts_without_heavy_imports():
    code = "import sys, terrafl.runs; print({'pydantic', 'torch', 'jinja2'} & sys.modules.keys())"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)

    assert shown == "set()\n"


def test_messages_say_what_to_do(journal):
    with pytest.raises(RunFolderError, match=re.escape("Restore the file, or leave the run out.")):
        list(read_events(journal({"event": 1})))
