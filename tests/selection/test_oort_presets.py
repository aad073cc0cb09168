"""Oort's presets and settings."""

import math

import pytest

from terrafl.errors import ConfigurationError
from terrafl.selection.oort import Oort
from terrafl.selection.oort.presets import PRESETS

TABLE = {
    "paper": (0.9, 0.98, 0.2, 0.95, 0.95, 2, 20, 10, 1.0),
    "oort-repo": (0.9, 0.95, 0.2, 0.7, 0.98, 2, 20, None, 1.1),
    "fedscale": (0.9, 0.98, 0.3, 0.05, 0.9, 2, 20, None, 1.3),
    "hics": (0.9, 0.8, 0.2, 0.7, 0.98, 2, 20, None, 1.0),
}


@pytest.mark.parametrize("preset", TABLE)
def test_presets_hold_the_published_constants(preset):
    rules = PRESETS[preset]

    assert TABLE[preset] == (
        rules.exploration,
        rules.exploration_decay,
        rules.exploration_min,
        rules.cut_off,
        rules.clip_quantile,
        rules.penalty,
        rules.pacer_window,
        rules.max_participations,
        rules.overcommit,
    )


@pytest.mark.parametrize(
    ("preset", "formula", "threshold"),
    [("oort-repo", "released", 10), ("fedscale", "fedscale", 30), ("hics", "released", 10)],
)
def test_released_presets_hold_the_published_percentiles_and_windows(preset, formula, threshold):
    rules = PRESETS[preset]

    assert (rules.formula, rules.preference, rules.pacer_delta) == (formula, threshold, 5)
    assert (rules.max_excluded_fraction, rules.sample_window) == (0.3, 5)


@pytest.mark.parametrize(
    ("preset", "needs"),
    [
        ("paper", "squared_loss"),
        ("oort-repo", "squared_loss"),
        ("fedscale", "squared_loss"),
        ("hics", "loss"),
    ],
)
def test_a_preset_needs_the_loss_that_it_measures(preset, needs):
    assert Oort(preset=preset).needs == {needs}


@pytest.mark.parametrize(
    "setting",
    [
        {"preset": "papers"},
        {"durations": "fast"},
        {"durations": {"a": 0.0}},
        {"durations": {"a": math.inf}},
        {"exploration": 1.5},
        {"exploration_decay": -0.1},
        {"exploration_min": math.nan},
        {"cut_off": 2.0},
        {"clip_quantile": -1.0},
        {"penalty": -1.0},
        {"max_participations": 0},
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_name(setting):
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        Oort(**setting)
