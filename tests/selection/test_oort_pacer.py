"""Oort's durations and pacer."""

import math
from dataclasses import replace

import numpy as np
import pytest

from terrafl.errors import ConfigurationError
from terrafl.records import Population
from terrafl.selection.oort import Oort
from terrafl.selection.oort.pacer import Pacer, durations_s
from terrafl.selection.oort.presets import PRESETS, OortRules

PAPER, RELEASED = OortRules(), PRESETS["oort-repo"]


def run_pacer(rules, windows):
    pacer = Pacer(rules.preference)
    history = []
    for number in range((len(windows) + 1) * rules.pacer_window):
        pacer.begin(number, rules)
        if number % rules.pacer_window == 0 and number:
            history.append(pacer.preference)
        pacer.current += windows[min(number // rules.pacer_window, len(windows) - 1)]
    return history


def test_the_pacer_relaxes_when_a_window_gathers_less_than_the_one_before():
    assert run_pacer(PAPER, [5.0, 4.0, 4.0, 6.0, 1.0]) == [1, 2, 2, 2, 3]


def test_the_released_pacer_relaxes_on_a_plateau_and_tightens_on_a_leap():
    assert run_pacer(RELEASED, [10.0, 10.5, 20.0, 200.0, 200.0]) == [10, 15, 15, 10, 15]


def test_the_released_pacer_stays_between_its_step_and_everybody():
    high, low = replace(RELEASED, preference=98.0), replace(RELEASED, preference=5.0)

    assert run_pacer(high, [1.0, 1.0, 1.0]) == [98, 100, 100]
    assert run_pacer(low, [1.0, 10.0, 100.0]) == [5, 5, 5]


def test_a_pacer_survives_a_restart():
    oort, restored = Oort(), Oort()
    oort._pacer = Pacer(3.0, current=2.5)

    restored.restore(oort.state())

    assert repr(restored._pacer) == repr(oort._pacer)  # the previous sum is not a number


def test_the_preferred_duration_is_in_medians_or_a_percentile():
    durations = np.array([4.0, 1.0, 3.0, 2.0, 10.0])

    assert Pacer(2.0).preferred_s(durations, PAPER) == 6.0
    assert Pacer(10.0).preferred_s(durations, RELEASED) == 1.0
    assert Pacer(60.0).preferred_s(durations, RELEASED) == 4.0
    assert Pacer(100.0).preferred_s(durations, RELEASED) == math.inf


def test_durations_come_from_where_they_are_said_to():
    population = Population.of({"a": 1, "b": 1, "c": 1})
    measured = np.array([4.0, np.nan, 2.0])

    def expected_s(durations, measured=measured):
        return durations_s(durations, population, 7, measured).tolist()

    assert expected_s("equal") == [1, 1, 1]
    assert expected_s("seeded") == expected_s("seeded") != expected_s("equal")
    assert expected_s({"a": 5.0, "b": 6.0, "c": 7.0, "d": 8.0}) == [5, 6, 7]
    assert expected_s("measured") == [4, 3, 2]
    assert expected_s("measured", np.full(3, np.nan)) == [1, 1, 1]
    assert min(expected_s("measured", np.zeros(3))) > 0


def test_a_client_without_a_duration_is_named():
    with pytest.raises(ConfigurationError, match=r"durations must be given .*'b'"):
        durations_s({"a": 1.0}, Population.of({"a": 1, "b": 1}), 0, np.empty(0))
