from __future__ import annotations

import json

import numpy as np
import pytest

from terrafl.data.writers import read_users
from terrafl.errors import DataError

SIDE = 2


def _made() -> dict[str, object]:
    """Return what LEAF writes for two writers of images of four pixels."""
    return {
        "users": ["f0000_14", "f0001_41"],
        "num_samples": [2, 1],
        "user_data": {
            "f0000_14": {"x": [[0, 1, 0.2, 0.4], [1, 1, 1, 0.0]], "y": [0, 61]},
            "f0001_41": {"x": [[0.6, 0.8, 1, 1]], "y": [35]},
        },
    }


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "all_data_0.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_users(path, side=SIDE)

    return write


def test_users_come_one_by_one_with_pixels_in_steps_of_a_byte(file):
    first, second = file(_made())

    assert (first.group.tolist(), first.y.tolist()) == (["f0000_14"] * 2, [0, 61])
    assert first.x.tolist() == [[[[0, 255], [51, 102]]], [[[255, 255], [255, 0]]]]
    assert (second.group.tolist(), second.x.tolist()) == (
        ["f0001_41"],
        [[[[153, 204], [255, 255]]]],
    )
    assert first.x.dtype == np.uint8


def test_every_byte_survives(file):
    values = [value / 255 for value in range(256)]
    made = {
        "users": ["u"],
        "num_samples": [64],
        "user_data": {"u": {"x": np.reshape(values, (64, 4)).tolist(), "y": [0] * 64}},
    }

    (user,) = file(made)

    assert user.x.ravel().tolist() == list(range(256))


def test_a_key_that_nobody_needs_is_passed_over(file):
    assert len(list(file({"hierarchies": ["a", "b"], **_made()}))) == 2


def test_a_file_of_no_users_has_none(file):
    assert list(file({"users": [], "num_samples": [], "user_data": {}})) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": ["f0000_14"]}, r"must have users, .*; got: zip"),
        ({"users": ["f0000_14", "f0000_14"]}, "must have the same users"),
        ({"users": None}, "must have users, num_samples, user_data"),
        ({"user_data": None}, "must have users, num_samples, user_data"),
        ({"num_samples": [2, -1]}, "must give user f0001_41 -1 images .*; got: 1 images"),
        ({"num_samples": [2, "1"]}, "must give user f0001_41 1 images"),
        ({"num_samples": [2, 10**12]}, "must give user f0001_41 1000000000000 images"),
    ],
)
def test_an_invalid_header_is_refused(file, change, message):
    with pytest.raises(DataError, match=message):
        list(file(_made() | change))


def test_the_order_of_the_keys_does_not_matter(file):
    made = _made()

    users = list(file({key: made[key] for key in reversed(made)}))

    assert [user.group[0] for user in users] == made["users"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": [[0, 1, 0, 1]], "y": [0]}, "must give user f0000_14 2 images .*; got: 1 images"),
        ({"x": [[0, 1, 0, 1]] * 2, "y": [0]}, "one label each"),
        ({"x": [[0, 1, 0, 1.5]] * 2, "y": [0, 1]}, "pixels from 0 to 1"),
        ({"x": [[0, 1, 0, -1]] * 2, "y": [0, 1]}, "pixels from 0 to 1"),
        ({"x": [[0, 1, 0], [1]], "y": [0, 1]}, "must give user f0000_14 2 images"),
        ({"x": [[0, 1, 0, None]] * 2, "y": [0, 1]}, "pixels from 0 to 1"),
        ({"x": [["a", 1, 0, 1]] * 2, "y": [0, 1]}, "must give user f0000_14 2 images"),
        ({"x": [[0, 1, 0, 1]] * 2, "y": [0, 2**70]}, "must give user f0000_14 2 images"),
        ({"y": [0, 1]}, "one label each"),
        ([], "must give user f0000_14 2 images"),
    ],
)
def test_a_user_of_other_data_is_refused(file, change, message):
    made = _made()
    made["user_data"]["f0000_14"] = change

    with pytest.raises(DataError, match=message):
        list(file(made))


def test_users_other_than_declared_are_refused(file):
    made = _made()
    made["user_data"]["f9999_99"] = made["user_data"]["f0000_14"]

    with pytest.raises(DataError, match="must have the same users"):
        list(file(made))
    del made["user_data"]["f9999_99"], made["user_data"]["f0001_41"]
    with pytest.raises(DataError):
        list(file(made))


@pytest.mark.parametrize("part", [0.2, 0.6, 0.9])
def test_a_file_that_is_cut_short_is_refused(file, part):
    text = json.dumps(_made())

    with pytest.raises(DataError, match=r"all_data_0\.json must"):
        list(file(text[: int(part * len(text))]))


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="must be a readable JSON file"):
        next(read_users(tmp_path / "all_data_0.json", side=SIDE))
