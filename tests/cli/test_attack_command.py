"""``terrafl attack`` and ``--guard``, as a person uses them."""

import json

import pytest

from terrafl.runs import read_lines


@pytest.fixture
def attack(terrafl):
    def run(*flags):
        small = ["--scenario=digits", "--rounds=2", "--set=model.name=linear", "--workers=1", "-q"]
        return terrafl("attack", *small, "--attacks=sign-flip", *flags)

    return run


def test_a_bench_leaves_its_table_and_one_result_per_run(attack, terrafl, tmp_path):
    said = attack("--methods=guarded,random")

    assert said.code == 0, said.err
    results = tmp_path / "results" / "attack"
    assert said.out == (results / "table.md").read_text()
    assert len(list(results.glob("*.json"))) == 4
    assert "| sign-flip | Terraform, guarded |" in said.out
    again = terrafl("attack", "--show", "--methods=guarded,random", "--attacks=sign-flip")
    assert again.out == said.out


def test_finished_runs_are_not_made_again(attack, tmp_path):
    attack("--methods=random")
    folder = tmp_path / "runs" / "attack" / "random-sign-flip-s0"
    before = (folder / "timings.jsonl").read_bytes()

    said = attack("--methods=random")

    assert said.code == 0
    assert (folder / "timings.jsonl").read_bytes() == before


def test_a_wrong_name_is_one_sentence(attack, mistake):
    mistake(attack("--methods=nobody"), "methods must be among terraform, guarded")


@pytest.mark.parametrize(("flag", "guarded"), [("--guard", True), ("--no-guard", False)])
def test_the_guard_is_a_flag_of_a_run(terrafl, tiny, tmp_path, flag, guarded):
    (tmp_path / "other.toml").write_text('dataset = "digits"\n\n[guard]\nclip = 0.5\n')

    said = terrafl("run", "other.toml", *tiny[1:], flag, "--out=run", "--json", "-q")

    assert said.code == 0, said.err
    assert json.loads(said.out)["rounds"] == 2
    events = [e["event"] for e in read_lines(tmp_path / "run" / "journal.jsonl")]
    assert ("guard" in events) is guarded
