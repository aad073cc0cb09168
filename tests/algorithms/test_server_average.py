"""Server averaging against its weights written out, and in whole runs."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from slow_rounds import SETTINGS

from terrafl.algorithms.server_average import ServerAverage
from terrafl.errors import ConfigurationError
from terrafl.experiments.config import resolve
from terrafl.experiments.run import execute
from terrafl.runs import read_lines

SMALL = SETTINGS | {"selector": {"name": "terraform", "eta": 2}, "eval_every": 2}


@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    half_life=st.floats(0.5, 1e6),
)
def test_each_model_weighs_its_updates_halved_after_each_half_life(counts, half_life):
    models = np.random.default_rng(len(counts)).normal(size=(len(counts), 3)).astype(np.float32)
    average = ServerAverage(half_life=half_life)
    for model, count in zip(models, counts, strict=True):
        average.take(model, count)

    # One update weighs half of one that came half a life later; a model weighs as its updates do.
    ends = np.cumsum(counts)
    decay = 2.0 ** ((ends - ends[-1]) / half_life)
    weights = decay * -np.expm1(-np.log(2) * np.array(counts) / half_life)
    np.testing.assert_allclose(average.model, weights @ models / weights.sum(), atol=1e-6)


def test_a_half_life_must_be_positive():
    with pytest.raises(ConfigurationError, match=r"half_life must be .* above 0.*; got 0"):
        ServerAverage(half_life=0)


def test_both_read_outs_are_recorded_and_the_average_is_reported_and_saved(tmp_path):
    raw = execute(resolve(SMALL), tmp_path / "raw").summary
    averaged = execute(resolve(SMALL | {"average": {"half_life": 15}}), tmp_path / "averaged")

    summary = averaged.summary
    by_round = [(p["round"], p["score_raw"]) for p in summary.points]
    assert by_round == [(p.round, p.accuracy) for p in raw.curve]  # training is not touched
    assert [p["score"] for p in summary.points] == [p["score_averaged"] for p in summary.points]
    assert [p["score"] for p in summary.points] == [p.accuracy for p in summary.curve]
    assert [p["score"] for p in summary.points] != [p["score_raw"] for p in summary.points]
    events = [e for e in read_lines(tmp_path / "averaged" / "journal.jsonl")
              if e["event"] == "evaluation"]  # fmt: skip
    assert [e["readouts"] for e in events] == [
        {"averaged": p["score_averaged"], "raw": p["score_raw"]} for p in summary.points
    ]
    models = [
        load_file(tmp_path / n / "model.safetensors")["head.bias"] for n in ("raw", "averaged")
    ]
    assert not np.array_equal(*models)


def test_points_carry_every_cost(tmp_path):
    summary = execute(resolve(SMALL), tmp_path / "run").summary

    plain = json.loads((tmp_path / "run" / "summary.json").read_text())
    last = plain["points"][-1]
    assert last == {
        "round": summary.rounds,
        "step": last["step"],
        "client_updates": summary.client_updates,
        "samples": summary.samples_trained,
        "bytes": summary.bytes_down + summary.bytes_up,
        "score": summary.accuracy,
    }
    iterations = [e for e in read_lines(tmp_path / "run" / "journal.jsonl")
                  if e["event"] == "cohort"]  # fmt: skip
    assert last["step"] == len(iterations)
