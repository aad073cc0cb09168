"""The paper's tables as data: what they hold and which runs they need."""

import tomllib
from importlib.resources import files

import pytest

from terrafl.errors import ConfigurationError
from terrafl.experiments.config_layers import scenario_names
from terrafl.paper.catalog import read_table, table_names
from terrafl.paper.plan import PROFILES, chosen, plan, profile_named
from terrafl.selection import Terraform


def test_every_table_and_figure_of_the_evaluation_is_there():
    assert table_names() == ["quartiles", "table1", "table2", "table3", "time", "updates"]


@pytest.mark.parametrize("name", table_names())
def test_a_table_is_made_of_scenarios_that_ship(name):
    assert {column.scenario for column in read_table(name).columns} <= set(scenario_names())


@pytest.mark.parametrize(
    ("name", "cell", "percent"),
    [
        ("table1", ("fedavg", "Terraform", "cifar100"), 24.22),
        ("table1", ("fedprox", "HBase", "femnist"), 81.49),
        ("table2", ("fedavg", "Oort", "fmnist-1"), 89.01),
        ("table2", ("fedprox", "Terraform", "fmnist-5"), 86.63),
        ("table3", ("fedprox", "eta = 3", "fmnist-1s"), 82.58),
    ],
)
def test_a_cell_holds_what_the_paper_prints(name, cell, percent):
    assert read_table(name).printed[cell] == percent


@pytest.mark.parametrize(("name", "cells"), [("table1", 72), ("table2", 96), ("table3", 9)])
def test_every_cell_that_the_paper_prints_has_its_place(name, cells):
    table = read_table(name)

    places = {(a, r.label, c.scenario) for a in table.algorithms for r in table.rows
              for c in table.columns}  # fmt: skip
    assert len(table.printed) == cells
    assert set(table.printed) <= places


def test_table_3_prints_what_tables_1_and_2_print_at_the_default_threshold():
    first, second, third = (read_table(f"table{i}").printed for i in (1, 2, 3))

    for (algorithm, label, scenario), percent in third.items():
        if label == "eta = 4":
            assert percent == (first | second)[algorithm, "Terraform", scenario]


def test_the_rows_of_the_ablations_are_settings_of_terraform():
    for name in ("table3", "updates", "quartiles", "time"):
        variants = [p.config.variant for p in plan(read_table(name), PROFILES["smoke"])]
        first = len(read_table(name).rows)
        assert len(set(variants[:first])) == first


def test_the_time_of_a_cell_is_measured_apart():
    time, quartiles = (plan(read_table(n), PROFILES["paper"]) for n in ("time", "quartiles"))

    assert [p.config for p in time] == [p.config for p in quartiles]
    assert not {p.place for p in time} & {p.place for p in quartiles}


def test_an_unknown_table_is_named_with_its_likely_meaning():
    with pytest.raises(ConfigurationError, match=r"got 'tabel1'.*did you mean 'table1'"):
        read_table("tabel1")


def test_the_paper_profile_is_the_scenarios_setting_with_three_seeds():
    cells = plan(read_table("table2"), profile_named("paper"))

    folder = files("terrafl.experiments") / "scenarios"
    rounds = tomllib.loads((folder / "_fmnist.toml").read_text())["rounds"]
    assert {cell.config.rounds for cell in cells} == {rounds}
    assert {cell.config.seed for cell in cells} == {0, 1, 2}
    assert len(cells) == 8 * 3 * 2 * 7


def test_the_laptop_profile_is_one_seed_and_fewer_rounds():
    cells = [c for n in ("table1", "table2") for c in plan(read_table(n), profile_named("laptop"))]

    rounds = {cell.config.dataset: cell.config.rounds for cell in cells}
    assert rounds == {
        "fmnist": 60, "cifar10": 100, "cifar100": 100, "tiny-imagenet": 100, "unipen62": 20,
        "har": 50, "femnist": 20,
    }  # fmt: skip
    assert {cell.config.seed for cell in cells} == {0}


def test_every_run_says_its_profile_and_has_a_place_of_its_own():
    cells = plan(read_table("table1"), profile_named("laptop"))

    assert {cell.config.profile for cell in cells} == {"laptop"}
    assert len({cell.place for cell in cells}) == len(cells)


def test_tables_share_the_runs_they_have_in_common():
    first, third = (plan(read_table(n), profile_named("laptop")) for n in ("table2", "table3"))

    shared = {cell.place for cell in first} & {cell.place for cell in third}
    assert {(p.parts[1], p.name) for p in shared} == {
        ("fmnist-1s", "terraform-fedprox-s0"),
        ("fmnist-4", "terraform-fedprox-s0"),
        ("fmnist-1s", "terraform-anchor=True-fedprox-s0"),
        ("fmnist-4", "terraform-anchor=True-fedprox-s0"),
    }


def test_every_table_has_the_anchored_variant_as_a_row_of_its_own():
    for name in table_names():
        beyond = [row for row in read_table(name).rows if row.beyond_paper]
        assert [row.label for row in beyond] == ["Anchored Terraform"]


def test_words_of_a_kind_are_alternatives_and_kinds_restrict_each_other():
    cells = plan(read_table("table1"), profile_named("paper"))

    picked = chosen(cells, ["cifar100", "har", "fedavg", "terraform", "seed1"])

    assert {cell.column.scenario for cell in picked} == {"cifar100", "har"}
    assert {type(cell.config.selector) for cell in picked} == {Terraform}
    assert [cell.config.seed for cell in picked] == [1] * 4  # literal and anchored


def test_a_word_that_matches_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="no run matches 'cifar1000'"):
        chosen(plan(read_table("table1"), profile_named("smoke")), ["cifar1000"])


def test_an_unknown_profile_is_refused():
    with pytest.raises(ConfigurationError, match="must be one of paper, laptop, smoke; got 'lap'"):
        profile_named("lap")
