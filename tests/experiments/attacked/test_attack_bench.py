"""The attack bench from plan to table."""

import csv
import io

import pytest

from terrafl.defences import KINDS
from terrafl.errors import ConfigurationError, RunFolderError
from terrafl.experiments.attacked.plan import chosen_kinds, chosen_methods, plan
from terrafl.experiments.attacked.results import attack_markdown, attack_rows, keep, read_kept
from terrafl.experiments.run import execute
from terrafl.experiments.sweep import sweep
from terrafl.reports.tables import to_csv

METHODS = ["terraform", "guarded", "random"]


@pytest.fixture
def bench(small, tmp_path):
    """Return the kept outcomes of a small bench: controls, and one attack."""
    runs = plan(tmp_path / "runs", METHODS, chosen_kinds(["sign-flip"]), fraction=0.25, **small)
    sweep([run.cell for run in runs])
    for run in runs:
        keep(run, tmp_path / "results")
    return runs, read_kept(tmp_path / "results")


def test_controls_come_first_and_differ_from_attacked_runs_in_the_attack_alone(small, tmp_path):
    runs = plan(tmp_path, METHODS, list(KINDS), **small)

    assert len(runs) == len(METHODS) * len(KINDS)
    assert {run.kind for run in runs[:3]} == {"none"}
    for run in runs:
        settings = run.cell.config.to_plain()
        control = next(r for r in runs if (r.method, r.kind) == (run.method, "none"))
        assert settings["attack"].pop("kind") == run.kind
        usual = control.cell.config.to_plain()
        del usual["attack"]["kind"]
        assert settings == usual
        assert ("guard" in settings) == (run.method == "guarded")


def test_details_of_the_guard_reach_the_guarded_methods_only(small, tmp_path):
    settings = {"guard": {"clip": 7.0}}

    runs = plan(tmp_path, METHODS, ["none"], **small, settings=settings)

    guards = {run.method: run.cell.config.guard for run in runs}
    assert guards["terraform"] is guards["random"] is None
    assert guards["guarded"].clip == 7.0


def test_the_control_is_the_run_that_nobody_attacks(tiny, small, tmp_path):
    (control,) = plan(tmp_path, ["terraform"], ["none"], **small)

    execute(control.cell.config, tmp_path / "control")
    execute(tiny(selector="terraform"), tmp_path / "plain")

    models = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("control", "plain")]
    assert models[0] == models[1]


def test_the_table_is_made_of_what_was_kept(bench):
    runs, kept = bench

    rows = attack_rows(kept, METHODS, ["none", "sign-flip"])

    assert [(row["attack"], row["method"]) for row in rows][:2] == [
        ("none", "Terraform, literal"),
        ("none", "Terraform, guarded"),
    ]
    by_name = {(one.method, one.kind): one for one in kept}
    for row, run in zip(rows, runs, strict=True):
        one = by_name[run.method, run.kind]
        assert row["accuracy"] == pytest.approx(100 * one.accuracy)
        if run.kind != "none":
            control = by_name[run.method, "none"]
            assert row["lost"] == pytest.approx(100 * (control.accuracy - one.accuracy))
    read = list(csv.DictReader(io.StringIO(to_csv(rows))))
    assert [float(row["accuracy"]) for row in read] == [row["accuracy"] for row in rows]


def test_a_run_that_was_not_made_says_so(bench):
    _, kept = bench

    text = attack_markdown(attack_rows(kept, ["random"], ["none", "stale"]))

    assert "| stale | Random | not run | – |" in text
    assert text.count("not run") == 1


def test_a_result_of_something_else_is_refused(tmp_path):
    (tmp_path / "other.json").write_text('{"method": "guarded"}')

    with pytest.raises(RunFolderError, match="must be a result of terrafl attack"):
        read_kept(tmp_path)


def test_unknown_names_are_refused_with_a_hint():
    with pytest.raises(ConfigurationError, match="did you mean 'guarded'"):
        chosen_methods(["gaurded"])
    with pytest.raises(ConfigurationError, match="did you mean 'label-flip'"):
        chosen_kinds(["label-flop"])
