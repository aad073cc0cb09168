"""Gini, worst decile, and what is not known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.reports.trace import Trace, fairness_of, gini, read_trace, worst_decile
from terrafl.runs import RunFolder


@settings(derandomize=True)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_gini_is_the_mean_difference_over_twice_the_mean(counts):
    differences = sum(abs(a - b) for a in counts for b in counts)
    slow = differences / (2 * len(counts) * sum(counts)) if sum(counts) else 0.0

    assert gini(counts) == pytest.approx(slow, abs=1e-12)


@settings(derandomize=True)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_worst_decile_is_the_mean_of_the_lowest_tenth_rounded_up(accuracies):
    remaining, lowest = list(accuracies), []
    while 10 * len(lowest) < len(accuracies):
        lowest.append(min(remaining))
        remaining.remove(lowest[-1])

    assert worst_decile(accuracies) == pytest.approx(sum(lowest) / len(lowest))


def test_a_method_is_measured_over_its_seeds(real_runs):
    traces = [read_trace(RunFolder(real_runs / f"terraform-s{seed}")) for seed in (0, 1)]

    fair = fairness_of(traces)

    ginis = [gini(trace.participation()) for trace in traces]
    assert fair.gini.mean == pytest.approx(sum(ginis) / 2)
    assert fair.gini.num_seeds == 2
    assert 0 <= fair.worst_decile.mean <= fair.mean.mean <= 100


def test_what_journals_do_not_tell_is_not_made_up():
    unlisted = Trace()
    unlisted.add({"event": "cohort", "round": 0, "iteration": 0, "clients": ["a"]})

    fair = fairness_of([unlisted])

    assert fair.gini is fair.never_percent is fair.worst_decile is fair.mean is None
