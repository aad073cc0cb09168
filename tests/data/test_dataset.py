from __future__ import annotations

import numpy as np
import pytest

from terrafl.data import Dataset, Examples, Normalisation
from terrafl.errors import DataError


def test_an_input_without_a_label_is_refused():
    with pytest.raises(DataError, match="got 2 inputs, 1 targets and 0 owners"):
        Examples(np.zeros((2, 1), dtype=np.uint8), np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_outside_the_classes_is_refused(label):
    good = Examples(np.zeros((1, 1), dtype=np.uint8), np.array([0]))
    bad = Examples(np.zeros((1, 1), dtype=np.uint8), np.array([label]))

    with pytest.raises(DataError, match=r"labels of made-up must lie in 0 \.\. 2"):
        Dataset(name="made-up", train=good, test=bad, num_classes=3, normalisation=Normalisation())


def test_normalisation_is_affine_per_channel():
    normalisation = Normalisation(255.0, (0.1, 0.5), (0.2, 0.25))
    stored = np.array([[0.0, 0.0], [255.0, 255.0], [51.0, 204.0]])

    scale, offset = normalisation.affine()

    expected = (stored / 255.0 - np.array([0.1, 0.5])) / np.array([0.2, 0.25])
    assert stored * scale + offset == pytest.approx(expected, abs=1e-6)
