from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from terrafl.data import load, sets


def _sorted_rows(*examples):
    rows = [np.column_stack([e.x.reshape(len(e), -1), e.y]) for e in examples]
    return sorted(map(tuple, np.concatenate(rows).tolist()))


@pytest.fixture(scope="module")
def digits():
    return load("digits", generator=np.random.default_rng(0))


def test_the_digits_have_their_published_shape(digits):
    assert digits.train.x.shape == (1437, 1, 8, 8)
    assert digits.test.x.shape == (360, 1, 8, 8)
    assert digits.train.x.dtype == np.uint8
    assert (digits.train.x.min(), digits.train.x.max()) == (0, 16)
    assert digits.normalisation.divisor == 16
    assert digits.input_shape == (1, 8, 8)


def test_the_division_is_stratified(digits):
    train, test = (np.bincount(examples.y) for examples in (digits.train, digits.test))

    assert np.abs(test - (train + test) * 360 / 1797).max() <= 1


def test_the_loaded_arrays_are_the_same_bytes_as_ever(digits):
    arrays = (digits.train.x, digits.train.y, digits.test.x, digits.test.y)

    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()

    assert digest == "aff0d85ca2eb0d72fe4276e4c3feaf4be5857c284c3a0dabd61a9164b0e14e5c"


def test_the_file_states_its_licence_and_authors():
    text = (Path(sets.__file__).parent / "digits.LICENSE.txt").read_text()

    for part in ("CC BY 4.0", "Alpaydin", "Kaynak", "https://doi.org/10.24432/C50P49"):
        assert part in text


def test_the_two_parts_are_the_digits_that_scikit_learn_has(digits):
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    images, labels = datasets.load_digits(return_X_y=True)

    expected = np.column_stack([images.astype(np.int64), labels])
    assert _sorted_rows(digits.train, digits.test) == sorted(map(tuple, expected.tolist()))


def test_the_generator_alone_decides_the_division(digits):
    same, other = (load("digits", generator=np.random.default_rng(seed)) for seed in (0, 1))

    assert np.array_equal(same.train.x, digits.train.x)
    assert not np.array_equal(other.train.x, digits.train.x)
