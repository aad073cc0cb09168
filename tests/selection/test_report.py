"""The border: which reports are believed."""

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from terrafl.selection.report import judge

COHORT = ("a", "b", "c")
NEEDS = frozenset({"update_norm", "bias_update"})
MALFORMED = {
    "NaN norm": ({"update_norm": float("nan")}, "update_norm must be finite"),
    "infinite norm": ({"update_norm": float("inf")}, "update_norm must be finite"),
    "negative norm": ({"update_norm": -0.1}, "update_norm must be finite and not negative"),
    "negative loss": ({"loss": -1.0}, "loss must be finite and not negative"),
    "NaN in a field nobody asked for": ({"duration_s": float("nan")}, "duration_s must be finite"),
    "norm beyond any float": ({"update_norm": 10**400}, "update_norm must be finite"),
    "norm too long to print": ({"update_norm": 10**5000}, "thousands of digits"),
    "fraction beyond any float": ({"loss": Fraction(10**400)}, "loss must be finite"),
    "bool norm": ({"update_norm": True}, "update_norm must be a number"),
    "text norm": ({"update_norm": "1.0"}, "update_norm must be a number"),
    "very long text": ({"update_norm": "9" * 10**6}, r"\.\.\.$"),
    "complex norm": ({"update_norm": 1j}, "update_norm must be a number"),
    "decimal norm": ({"update_norm": Decimal(1)}, "update_norm must be a number"),
    "array for a number": ({"update_norm": np.ones(3)}, "update_norm must be a number"),
    "no examples": ({"num_examples": 0}, "num_examples must be an integer of at least 1"),
    "negative size": ({"num_examples": -5}, "num_examples must be an integer"),
    "very negative size": ({"num_examples": -(10**5000)}, "thousands of digits"),
    "fractional size": ({"num_examples": 2.5}, "num_examples must be an integer"),
    "whole float size": ({"num_examples": 2.0}, "num_examples must be an integer"),
    "bool size": ({"num_examples": True}, "num_examples must be an integer"),
    "numpy bool size": ({"num_examples": np.True_}, "num_examples must be an integer"),
    "missing size": ({"num_examples": None}, "num_examples must be an integer"),
    "size beyond 64 bits": ({"num_examples": 2**70}, r"at most 2\^40"),
    "unknown client": ({"client_id": "z"}, "unknown client"),
    "client that is no text": ({"client_id": 7}, "unknown client"),
    "client that cannot be hashed": ({"client_id": ["a"]}, "unknown client"),
    "wrong round": ({"round": 4}, "wrong round: must be 3, got 4"),
    "round that is an array": ({"round": np.array([3, 3])}, "wrong round"),
    "round that is NaN": ({"round": float("nan")}, "wrong round"),
    "wrong iteration": ({"iteration": 0}, "wrong iteration: must be 1, got 0"),
    "missing norm": ({"update_norm": None}, "update_norm is missing"),
    "missing update": ({"bias_update": None}, "bias_update is missing"),
    "list for an array": ({"bias_update": [0.1, 0.2]}, "bias_update must be an array"),
    "NaN in an array": ({"bias_update": np.array([0.1, np.nan])}, "bias_update must be an array"),
    "infinity in an array": ({"weight_update": np.full((2, 2), np.inf)}, "weight_update must be"),
    "empty array": ({"bias_update": np.array([])}, "bias_update must be an array"),
    "integer array": ({"bias_update": np.array([1, 2])}, "bias_update must be an array"),
    "text array": ({"bias_update": np.array(["1"])}, "bias_update must be an array"),
    "object array": ({"bias_update": np.array([0.5], dtype=object)}, "bias_update must be"),
    "extended floats": ({"bias_update": np.array(["1e4000"], dtype=np.longdouble)}, "must be"),
}


@pytest.fixture
def sound(make_report):
    return [make_report(client, round=3, iteration=1) for client in COHORT]


def judged(reports, needs=NEEDS):
    return judge(reports, cohort=COHORT, round=3, iteration=1, needs=needs)


def test_sound_reports_are_accepted_in_the_order_of_ids(sound):
    accepted, refused = judged(reversed(sound))

    assert list(accepted) == sound
    assert refused == ()


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_report_is_refused_by_name_and_spares_the_others(sound, case):
    change, message = MALFORMED[case]
    bad = replace(sound[1], **change)

    accepted, refused = judged([sound[0], bad, sound[2]])

    assert [report.client_id for report in accepted] == ["a", "c"]
    (refusal,) = refused
    assert refusal.client_id == str(bad.client_id)
    assert len(refusal.reason) < 200
    assert re.search(message, refusal.reason)


@pytest.mark.parametrize(
    "value",
    [0, 0.0, 7, np.float32(0.5), np.float16(2), np.int64(3), Fraction(1, 3), 1e308, 10**300],
)
def test_any_finite_real_number_is_a_magnitude(sound, value):
    accepted, _ = judged([replace(sound[0], update_norm=value)])

    assert [report.client_id for report in accepted] == ["a"]


@pytest.mark.parametrize("size", [1, np.int32(5), np.uint8(5), 2**40])
def test_any_integer_type_is_a_size(sound, size):
    accepted, _ = judged([replace(sound[0], num_examples=size)])

    assert [report.client_id for report in accepted] == ["a"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_any_common_float_is_an_update(sound, dtype):
    accepted, _ = judged([replace(sound[0], bias_update=np.zeros(3, dtype=dtype))])

    assert [report.client_id for report in accepted] == ["a"]


def test_a_field_that_nobody_asked_for_may_be_missing(sound):
    bare = replace(sound[0], loss=None, squared_loss=None, duration_s=None, weight_update=None)

    accepted, _ = judged([bare])

    assert list(accepted) == [bare]


def test_a_repeated_report_counts_once(sound):
    accepted, refused = judged([sound[0], sound[1], replace(sound[0])])

    assert [report.client_id for report in accepted] == ["a", "b"]
    assert [(r.client_id, r.reason.split(":")[0]) for r in refused] == [("a", "repeated")]


def test_a_client_that_contradicts_itself_is_not_believed_at_all(sound):
    other = replace(sound[0], bias_update=sound[0].bias_update + 1)

    accepted, refused = judged([sound[0], sound[1], other])

    assert [report.client_id for report in accepted] == ["b"]
    assert [refusal.client_id for refusal in refused] == ["a", "a"]
    assert "contradict" in refused[0].reason


def test_a_malformed_copy_does_not_spoil_the_sound_report(sound):
    accepted, refused = judged([replace(sound[0], update_norm=-1.0), sound[0]])

    assert list(accepted) == [sound[0]]
    assert [refusal.client_id for refusal in refused] == ["a"]


def test_no_reports_are_no_reports():
    assert judged([]) == ((), ())


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_verdict_does_not_depend_on_the_order_of_arrival(make_report, data):
    sound = [make_report(client, round=3, iteration=1) for client in COHORT]
    changes = [{}, {"loss": 0.25}] + [change for change, _ in MALFORMED.values()]
    one = st.builds(
        lambda report, change: replace(report, **change),
        st.sampled_from(sound),
        st.sampled_from(changes),
    )
    arrived = data.draw(st.lists(one, max_size=8))
    shuffled = data.draw(st.permutations(arrived))

    accepted, refused = judged(arrived)
    accepted_again, refused_again = judged(shuffled)

    assert [repr(report) for report in accepted] == [repr(report) for report in accepted_again]
    assert refused == refused_again
    assert len(accepted) + len(refused) == len(arrived)


def test_an_update_of_another_shape_is_refused_where_the_shape_is_known(sound):
    shapes = {"bias_update": (2,), "weight_update": (2, 3)}
    fitting = replace(sound[0], bias_update=np.ones(2), weight_update=np.ones((2, 3)))
    long = replace(sound[1], bias_update=np.ones(3))
    turned = replace(sound[2], bias_update=np.ones(2), weight_update=np.ones((3, 2)))

    accepted, refused = judge(
        [fitting, long, turned], cohort=COHORT, round=3, iteration=1, needs=NEEDS, shapes=shapes
    )

    assert accepted == (fitting,)
    assert [refusal.reason for refusal in refused] == [
        "bias_update must have shape (2,), got (3,)",
        "weight_update must have shape (2, 3), got (3, 2)",
    ]
