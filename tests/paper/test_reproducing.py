"""From a table to its runs, and from its runs back to the table, on digits."""

import csv
import io
import json
import time
from dataclasses import replace

import pytest

from terrafl.paper.catalog import Column, Row, Table
from terrafl.paper.export import paper_csv, write_table
from terrafl.paper.gather import gather
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.perform import expected_seconds, perform, prepare
from terrafl.paper.plan import PROFILES, Profile, plan

ROWS = (Row("Random", "random"), Row("Terraform", "terraform"))
TABLE = Table(
    name="small",
    title="A small table",
    columns=(Column("digits", "Digits"), Column("har", "HAR")),
    rows=ROWS,
    algorithms=("fedavg",),
    printed={("fedavg", "Random", "digits"): 80.0, ("fedavg", "Terraform", "digits"): 90.0},
)
TWO_ROUNDS = Profile(name="laptop", seeds=(0, 1), all_rounds=2)


@pytest.fixture
def digits():
    return [cell for cell in plan(TABLE, TWO_ROUNDS) if cell.column.scenario == "digits"]


@pytest.fixture
def places(tmp_path):
    return {"runs": tmp_path / "runs", "results": tmp_path / "results"}


@pytest.fixture
def done(digits, places, monkeypatch):
    assert perform(digits, workers=1, **places)
    monkeypatch.setattr(
        "terrafl.paper.gather.profile_named",
        lambda name: TWO_ROUNDS if name == "laptop" else PROFILES[name],
    )
    return places["results"]


def test_results_are_kept_without_models(digits, done):
    for cell in digits:
        files = {file.name for file in (done / cell.place).iterdir()}
        assert files == {"summary.json", "config.toml", "seconds.json"}
        assert json.loads((done / cell.place / "summary.json").read_bytes())["profile"] == "laptop"


def test_the_table_shows_the_papers_number_ours_and_what_was_not_run(done):
    text = paper_markdown(gather(TABLE, done))

    overview = text.split("###")[0]
    assert "Digits [laptop]" in overview
    assert "| Random | <u>80.00</u> / " in overview
    assert overview.count("not run") == 2
    assert "Terraform +12.5 %" in overview


def test_every_column_names_the_command_that_made_it(done):
    text = paper_markdown(gather(TABLE, done))

    command = "`terrafl reproduce small --profile laptop --only digits --only fedavg`, commit "
    assert text.count(command) == 1


def test_the_verdict_calls_methods_what_the_table_calls_them(done):
    table = gather(replace(TABLE, rows=(TABLE.rows[0], replace(TABLE.rows[1], label="Ours"))), done)

    assert [method.name for method in table.blocks[0].group.methods] == ["Random", "Ours"]
    assert "Terraform" not in paper_markdown(table)


def test_ours_is_the_mean_over_seeds_of_the_last_accuracy(digits, done):
    rows = list(csv.DictReader(io.StringIO(paper_csv(gather(TABLE, done)))))

    random = [c for c in digits if c.row.label == "Random"]
    accuracies = [
        json.loads((done / cell.place / "summary.json").read_bytes())["accuracy"] for cell in random
    ]
    (row,) = [r for r in rows if (r["column"], r["method"]) == ("Digits", "Random")]
    assert float(row["accuracy_percent"]) == pytest.approx(100 * sum(accuracies) / 2)
    assert row["paper_percent"] == "80.0"


def test_a_table_is_written_in_three_formats_with_its_figures(done, tmp_path):
    write_table(gather(TABLE, done), tmp_path / "out")

    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "small.md", "small.csv", "small.tex", "small-digits-fedavg.png", "small-digits-fedavg.svg",
    }  # fmt: skip


def test_a_finished_run_is_not_run_again(digits, done, places):
    heard = []

    perform(digits, workers=1, on_round=lambda c, d, t, a: heard.append((d, t)), **places)

    assert heard == [(2, 2)] * 4


def test_a_budget_stops_after_the_round_under_way_and_the_rest_follows(digits, places):
    assert not perform(digits, workers=1, deadline=time.monotonic(), **places)
    assert not list(places["results"].rglob("summary.json"))

    assert perform(digits, workers=1, **places)
    assert len(list(places["results"].rglob("summary.json"))) == 4


def test_a_run_of_ones_own_replaces_a_result_that_was_there(digits, done, places, caplog):
    kept = done / digits[0].place / "summary.json"
    own = kept.read_bytes()
    kept.write_bytes(own.replace(b'"seed": 0', b'"seed": 7'))

    perform(digits, workers=1, **places)

    assert kept.read_bytes() == own
    assert "held another result" in caplog.text


def test_past_its_deadline_preparing_tries_nothing(tmp_path):
    prepared = prepare(plan(TABLE, TWO_ROUNDS), tmp_path / "runs", deadline=time.monotonic())

    assert prepared.expected_s == 0
    assert not (tmp_path / "runs").exists()
    assert len(prepared.waiting) == 8  # all of it is still to be made


def test_preparing_measures_a_round_and_leaves_out_what_has_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("TERRAFL_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    prepared = prepare(plan(TABLE, TWO_ROUNDS), tmp_path / "runs")

    assert {cell.column.scenario for cell in prepared.waiting} == {"digits"}
    assert prepared.expected_s > 0
    assert "har" in prepared.missing


def test_every_round_of_a_method_is_expected_to_take_as_long_as_the_measured_one(digits):
    measured = {"train": 19.0, "select": 1.0, "evaluate": 0.5}

    assert expected_seconds(digits[0].config, measured) == 2 * (20 + 0.5)
    assert expected_seconds(replace(digits[0].config, eval_every=2), measured) == 2 * (20 + 0.25)


def test_one_round_of_each_method_is_measured_once(digits, tmp_path):
    scenarios = []

    for _ in range(2):
        prepare(digits, tmp_path, warm_up=lambda config: scenarios.append(config.scenario))

    assert scenarios == ["digits", "digits"]
    measured = sorted((tmp_path / "calibration").iterdir())
    assert [folder.name for folder in measured] == [
        "digits-random-fedavg-s0",
        "digits-terraform-fedavg-s0",
    ]
    summaries = [json.loads((folder / "summary.json").read_bytes()) for folder in measured]
    assert [summary["rounds"] for summary in summaries] == [1, 1]
    assert summaries[0]["client_updates"] <= summaries[1]["client_updates"]


def test_seconds_of_training_stand_in_a_table_of_time(digits, places, monkeypatch):
    alone = Table(
        name="t", title="T", columns=TABLE.columns[:1], rows=ROWS, algorithms=("fedavg",),
        printed={}, alone=True,
    )  # fmt: skip
    monkeypatch.setattr(
        "terrafl.paper.gather.profile_named",
        lambda name: TWO_ROUNDS if name == "laptop" else PROFILES[name],
    )
    perform(plan(alone, TWO_ROUNDS), workers=1, **places)

    table = gather(alone, places["results"])

    quick, slow = sorted(table.blocks[0].lines, key=lambda line: line.train_s)
    assert quick.train_s > 0
    text = paper_markdown(table)
    assert f"| {quick.label} | **{quick.train_s:.2f}** |" in text
    assert f"| {slow.label} | <u>{slow.train_s:.2f}</u> |" in text
    assert "###" not in paper_markdown(gather(alone, places["results"] / "none"))


def test_seconds_are_kept_apart_by_what_they_were_spent_on(digits, done, places):
    for cell in digits:
        spent = json.loads((done / cell.place / "seconds.json").read_bytes())
        timings = (places["runs"] / cell.place / "timings.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in timings]
        of = {
            name: [e for e in events if e["event"] == name] for name in ("selection", "iteration")
        }
        assert spent.keys() == {"train", "select", "evaluate"}
        assert spent["train"] == pytest.approx(sum(e["train_s"] for e in of["iteration"]), abs=1e-3)
        assert spent["select"] == pytest.approx(
            sum(e["seconds"] for e in of["selection"]), abs=1e-3
        )


def test_a_preferred_profile_is_shown_though_the_other_has_more_methods(digits, done, places):
    paper = Profile(name="paper", seeds=(0,), all_rounds=2)
    (random, *_) = [c for c in plan(TABLE, paper) if c.column.scenario == "digits"]
    perform([random], workers=1, **places)

    assert gather(TABLE, done).blocks[0].profile == "laptop"
    assert gather(TABLE, done, preferred="paper").blocks[0].profile == "paper"
    assert gather(TABLE, done, preferred="paper").blocks[1].profile == ""
