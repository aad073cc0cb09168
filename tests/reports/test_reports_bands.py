import numpy as np
import pytest

from terrafl.reports.bands import average_curves
from terrafl.runs import Point


def curve(*points):
    """Build a curve from pairs of client updates and accuracy, one round each."""
    return [Point(i, updates, 0, value) for i, (updates, value) in enumerate(points, start=1)]


def test_curves_evaluated_alike_are_averaged_without_interpolation():
    curves = [curve((10, 0.1), (20, 0.4)), curve((10, 0.3), (20, 0.4))]

    band = average_curves(curves, "round")

    assert band.x.tolist() == [1, 2]
    assert band.mean.tolist() == pytest.approx([20, 40])
    assert band.sd.tolist() == pytest.approx([np.std([10, 30], ddof=1), 0])


def test_other_positions_are_read_linearly_within_the_common_range():
    curves = [curve((10, 0.0), (30, 0.2)), curve((20, 0.5), (40, 0.5))]

    band = average_curves(curves, "client_updates")

    assert band.x.tolist() == [20, 30]
    assert band.mean.tolist() == pytest.approx([(10 + 50) / 2, (20 + 50) / 2])


def test_one_curve_has_no_scatter():
    band = average_curves([curve((10, 0.1), (20, 0.4))], "round")

    assert not band.sd.any()


def test_of_several_evaluations_at_one_position_the_last_stands():
    band = average_curves([curve((10, 0.1), (10, 0.4), (20, 0.5))], "client_updates")

    assert band.x.tolist() == [10, 20]
    assert band.mean.tolist() == pytest.approx([40, 50])


@pytest.mark.parametrize("curves", [[], [[]], [curve((10, 0.1)), curve((20, 0.1))]])
def test_without_a_common_position_there_is_no_band(curves):
    assert average_curves(curves, "client_updates") is None


def test_long_curves_are_thinned_but_keep_their_ends():
    long = curve(*((step, step / 5000) for step in range(1, 5001)))

    band = average_curves([long], "client_updates")

    assert len(band.x) == 240
    assert (band.x[0], band.x[-1]) == (1, 5000)
    assert band.mean == pytest.approx(band.x / 50)
