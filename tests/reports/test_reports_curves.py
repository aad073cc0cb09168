import dataclasses
import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest

from terrafl.errors import ConfigurationError
from terrafl.reports import draw_curves, plot_runs

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_figure_has_two_panels_with_a_line_per_method_and_the_budget(runs):
    figure = plot_runs([runs])

    by_round, by_updates = figure.subfigs[0].axes
    assert len(by_round.get_lines()) == 3
    assert len(by_updates.get_lines()) == 3 + 1
    assert by_updates.get_lines()[-1].get_xdata() == [80, 80]
    assert (by_round.get_xlabel(), by_updates.get_xlabel()) == ("Rounds", "Client updates")
    assert by_round.get_ylim() == by_updates.get_ylim()


def test_lines_differ_in_colour_dash_and_marker(runs):
    lines = plot_runs([runs]).subfigs[0].axes[0].get_lines()

    assert len({line.get_color() for line in lines}) == 3
    assert len({line.get_marker() for line in lines}) == 3


def test_twenty_variants_are_still_told_apart(a_summary, tmp_path, write_run):
    for number in range(20):
        write_run(tmp_path / str(number), a_summary("terraform", variant=f"eta={number}"))

    lines = plot_runs([tmp_path]).subfigs[0].axes[0].get_lines()

    looks = {
        (line.get_color(), str(line._unscaled_dash_pattern), line.get_marker()) for line in lines
    }
    assert len(looks) == 20


def test_a_long_legend_makes_the_figure_taller_not_the_panels_smaller(
    tmp_path, a_summary, write_run
):
    write_run(tmp_path / "few" / "0", a_summary())
    for number in range(20):
        write_run(tmp_path / "many" / str(number), a_summary(variant=f"a long name {number}"))

    few, many = (plot_runs([tmp_path / name]) for name in ("few", "many"))
    for figure in (few, many):
        figure.draw_without_rendering()

    height_of = [f.subfigs[0].axes[0].get_window_extent().height for f in (few, many)]
    assert height_of[1] == pytest.approx(height_of[0], rel=0.06)


def test_the_legend_names_every_method_whatever_it_is_called(a_summary, tmp_path, write_run):
    names = ["_private:Own", "$x_{$", "<script>", "a -- b"]
    for name in names:
        write_run(tmp_path / str(names.index(name)), a_summary(name))

    figure = plot_runs([tmp_path], tmp_path / "figure.svg")

    (legend,) = figure.subfigs[0].legends
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(names)
    ET.parse(tmp_path / "figure.svg")


def test_equal_groups_give_equal_pictures(a_summary, a_group):
    one, other = (a_group(a_summary(seed=0), a_summary(seed=1, accuracy=0.6)) for _ in range(2))

    assert draw_curves(one) == draw_curves(other)


def test_the_readers_settings_neither_change_the_picture_nor_are_changed(a_summary, a_group):
    group = a_group(a_summary())
    plain = draw_curves(group)

    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9}):
        styled = draw_curves(group)

        assert mpl.rcParams["font.size"] == 30
    assert styled == plain


def test_pictures_are_what_they_say(a_summary, a_group):
    pictures = draw_curves(a_group(a_summary()))

    assert pictures.png.startswith(PNG)
    assert ET.fromstring(pictures.svg).tag.endswith("svg")
    assert b"<dc:date>" not in pictures.svg


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_figure_is_saved_in_the_format_of_its_name(runs, tmp_path, ending):
    path = tmp_path / f"figure.{ending}"
    magic = {"png": PNG, "svg": b"<?xml", "pdf": b"%PDF"}

    plot_runs([runs], path)

    assert path.read_bytes().startswith(magic[ending])


def test_an_unknown_format_is_refused(runs, tmp_path):
    with pytest.raises(ConfigurationError, match=r"ends in \.svg, \.png or \.pdf"):
        plot_runs([runs], tmp_path / "figure.exe")


def test_a_curve_of_one_evaluation_or_none_is_drawn_without_complaint(a_summary, a_group):
    one = a_summary("random", curve=[(1, 10, 0, 0.3)])
    none = dataclasses.replace(a_summary("oort"), curve=())

    assert draw_curves(a_group(one, none)).png.startswith(PNG)
