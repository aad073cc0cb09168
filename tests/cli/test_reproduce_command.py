"""terrafl reproduce, as a user types it."""

import pytest


@pytest.mark.parametrize("table", ["table1", "table2", "table3"])
def test_a_table_can_be_shown_where_nothing_was_run(terrafl, table):
    said = terrafl("reproduce", table, "--show")

    assert said.code == 0
    assert f"| {'eta = 4' if table == 'table3' else 'Terraform'} | " in said.out
    assert "not run" in said.out
    assert "there are no results in results/paper" in said.err


def test_only_picks_the_columns_that_are_shown(terrafl):
    said = terrafl("reproduce", "table2", "--show", "--only", "FMNIST 4", "--only", "FedAvg")

    assert "| FedAvg | FMNIST 4 |" in said.out
    assert "FMNIST 5" not in said.out
    assert "FedProx" not in said.out


def test_no_table_shows_smoke(terrafl):
    said = terrafl("reproduce", "table1", "--show", "--profile", "smoke")

    assert (said.code, said.out) == (0, "")
    assert "no table shows them" in said.err


def test_a_budget_that_is_spent_at_once_begins_no_run(terrafl, tmp_path):
    said = terrafl("reproduce", "table1", "--only", "har", "--budget", "0s")

    assert said.code == 0
    assert (
        "the time budget is used up; run the same command again to resume; no run was started"
        in (said.err)
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table4"], "the table must be one of quartiles, table1"),
        (["table1", "--profile", "big"], "the profile must be one of paper, laptop, smoke"),
        (["table1", "--budget", "soon"], "--budget must be a number with s, m or h"),
        (["table1", "--only", "cifar1000"], "no run matches 'cifar1000'"),
        (["table1", "--show", "--only", "cifar1000"], "no run matches 'cifar1000'"),
        (["table1", "--show", "--profile", "big"], "the profile must be one of paper"),
    ],
)
def test_a_mistake_in_a_reproduction_is_one_sentence(terrafl, mistake, arguments, sentence):
    mistake(terrafl("reproduce", *arguments), sentence)
