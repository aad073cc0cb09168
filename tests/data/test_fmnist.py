from __future__ import annotations

import numpy as np
import pytest

from terrafl.data import AlphaGroups, describe, load

PRESENT = {row.name: row.present for row in describe()}["fmnist"]

pytestmark = pytest.mark.skipif(
    not PRESENT, reason="Fashion-MNIST is not here: terrafl data fetch fmnist"
)


@pytest.fixture(scope="module")
def fmnist():
    return load("fmnist", generator=np.random.default_rng(0))


def test_the_images_have_their_published_shape(fmnist):
    assert fmnist.train.x.shape == (60000, 1, 28, 28)
    assert fmnist.test.x.shape == (10000, 1, 28, 28)
    assert fmnist.train.x.dtype == np.uint8


def test_classes_are_balanced_and_the_first_label_is_an_ankle_boot(fmnist):
    assert np.bincount(fmnist.train.y).tolist() == [6000] * 10
    assert np.bincount(fmnist.test.y).tolist() == [1000] * 10
    assert fmnist.train.y[0] == 9


def test_inputs_are_normalised_to_minus_one_to_one(fmnist):
    scale, offset = fmnist.normalisation.affine()

    ends = np.array([0, 255]) * scale + offset

    assert ends == pytest.approx([-1.0, 1.0])


def test_the_third_scenario_of_the_paper_gives_one_class_per_client(fmnist):
    partition = AlphaGroups(50, (0.001,) * 5).partition(fmnist, np.random.default_rng(0))

    classes = [len(np.unique(fmnist.train.y[rows])) for rows in partition.train]
    assert np.mean(classes) < 1.1
