import numpy as np
import pytest

from terrafl.reports.curves import average_curves


def test_curves_evaluated_alike_are_averaged_without_interpolation():
    curves = [[(1, 10), (2, 40)], [(1, 30), (2, 40)]]

    band = average_curves(curves)

    assert band.x.tolist() == [1, 2]
    assert band.mean.tolist() == pytest.approx([20, 40])
    assert band.sd.tolist() == pytest.approx([np.std([10, 30], ddof=1), 0])


def test_other_positions_are_read_linearly_within_the_common_range():
    curves = [[(10, 0), (30, 20)], [(20, 50), (40, 50)]]

    band = average_curves(curves)

    assert band.x.tolist() == [20, 30]
    assert band.mean.tolist() == pytest.approx([(10 + 50) / 2, (20 + 50) / 2])


def test_one_curve_has_no_scatter():
    band = average_curves([[(10, 10), (20, 40)]])

    assert not band.sd.any()


def test_of_several_evaluations_at_one_position_the_last_stands():
    band = average_curves([[(10, 10), (10, 40), (20, 50)]])

    assert band.x.tolist() == [10, 20]
    assert band.mean.tolist() == pytest.approx([40, 50])


@pytest.mark.parametrize("curves", [[], [[]], [[(10, 10)], [(20, 10)]]])
def test_without_a_common_position_there_is_no_band(curves):
    assert average_curves(curves) is None


def test_long_curves_are_thinned_but_keep_their_ends():
    long = [(step, step / 50) for step in range(1, 5001)]

    band = average_curves([long])

    assert len(band.x) == 240
    assert (band.x[0], band.x[-1]) == (1, 5000)
    assert band.mean == pytest.approx(band.x / 50)
