"""terrafl reproduce, as a user types it."""

import pytest


@pytest.mark.parametrize("table", ["table1", "table2", "table3"])
def test_a_table_can_be_shown_where_nothing_was_run(terrafl, table):
    said = terrafl("reproduce", table, "--show")

    assert said.code == 0
    assert "Terraform" in said.out or "eta = 4" in said.out
    assert "not run" in said.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table4"], "the table must be one of quartiles, table1"),
        (["table1", "--profile", "big"], "the profile must be one of paper, laptop, smoke"),
        (["table1", "--budget", "soon"], "--budget must be a number with s, m or h"),
        (["table1", "--only", "cifar1000"], "no run matches 'cifar1000'"),
    ],
)
def test_a_mistake_in_a_reproduction_is_one_sentence(terrafl, mistake, arguments, sentence):
    mistake(terrafl("reproduce", *arguments), sentence)
