"""The summary of a run: written and read back, or refused by name."""

import json
import re
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.errors import RunFolderError
from terrafl.runs import Point, Summary

SUMMARY = Summary(
    dataset="digits",
    scenario="",
    model="mlp",
    selector="terraform",
    algorithm="fedavg",
    seed=0,
    profile="",
    variant="eta=2",
    rounds=2,
    stopped="rounds",
    client_updates=12,
    samples_trained=400,
    loss_queries=0,
    samples_queried=0,
    bytes_down=1000,
    bytes_up=1096,
    reports_refused=1,
    accuracy=0.75,
    accuracy_participating=0.5,
    best=0.8,
    mean_last_ten=0.775,
    curve=(Point(1, 5, 180, 0.8), Point(2, 12, 400, 0.75)),
    versions={"terrafl": "0.1.0"},
)


@given(
    accuracy=st.floats(0, 1),
    curve=st.lists(
        st.builds(Point, st.integers(0, 10**7), *[st.integers(0, 2**53)] * 2, st.floats(-9, 1)),
        max_size=4,
    ).map(tuple),
    variant=st.text(max_size=10),
)
@settings(derandomize=True, deadline=None)
def test_a_summary_comes_back_as_it_was_written(tmp_path_factory, accuracy, curve, variant):
    summary = replace(SUMMARY, accuracy=accuracy, curve=curve, variant=variant)
    path = tmp_path_factory.mktemp("run") / "summary.json"
    path.write_bytes(summary.to_json())

    assert Summary.read(path) == summary


def test_points_of_the_curve_keep_their_names(tmp_path):
    path = tmp_path / "summary.json"
    path.write_bytes(SUMMARY.to_json())

    assert Summary.read(path).curve[1].client_updates == 12


def test_a_key_of_a_later_version_is_no_hindrance(tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps(asdict(SUMMARY) | {"weather": "fine"}))

    assert Summary.read(path) == SUMMARY


def without(key):
    return json.dumps({k: v for k, v in asdict(SUMMARY).items() if k != key})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        without("accuracy"),
        without("curve"),
        json.dumps(asdict(SUMMARY) | {"curve": 5}),
        json.dumps(asdict(SUMMARY) | {"curve": [[1, 2]]}),
        json.dumps(asdict(SUMMARY) | {"curve": [[1, 2, 3, "much"]]}),
        json.dumps(asdict(SUMMARY) | {"accuracy": "much"}),
        json.dumps(asdict(SUMMARY) | {"accuracy": None}),
        json.dumps(asdict(SUMMARY) | {"rounds": 1.5}),
        json.dumps(asdict(SUMMARY) | {"rounds": True}),
        json.dumps(asdict(SUMMARY) | {"selector": 3}),
        json.dumps(asdict(SUMMARY) | {"versions": 3}),
        json.dumps(asdict(SUMMARY) | {"versions": {"numpy": 2}}),
        "\udcff",
    ],
    ids=range(18),
)
def test_a_damaged_summary_is_refused_by_name(tmp_path, content):
    path = tmp_path / "summary.json"
    path.write_text(content, errors="surrogateescape")

    with pytest.raises(RunFolderError, match=r"summary\.json must be the summary of a terrafl run"):
        Summary.read(path)


def test_a_missing_summary_is_named(tmp_path):
    with pytest.raises(RunFolderError, match=r"summary\.json cannot be read: No such file"):
        Summary.read(tmp_path / "summary.json")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"accuracy": 0.75,', '"accuracy": NaN,', "it holds NaN"),
        ('"best": 0.8', '"best": 1e999', "best must be a finite number"),
        ('"accuracy": 0.75,', '"accuracy": 75.0,', "of at most 1; got 75.0"),
        ('"rounds": 2', f'"rounds": {10**18}', "rounds must be an integer from 0 to 10000000"),
        ('"client_updates": 12', '"client_updates": -1', "client_updates must be an integer"),
        ('"seed": 0', '"seed": "abc"', "seed must be an integer"),
        ("   180,", "   -180,", "samples must be an integer"),
        ('"versions": {', '"versions": 3, "x": {', "versions must be an object"),
    ],
)
def test_a_value_that_cannot_be_is_named(tmp_path, old, new, reason):
    path = tmp_path / "summary.json"
    text = SUMMARY.to_json().decode()
    assert old in text
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(RunFolderError, match=re.escape(reason)):
        Summary.read(path)
