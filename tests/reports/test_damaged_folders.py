"""A report of many runs survives a bad one, and says which it is and why."""

import json

import pytest

from terrafl.errors import RunFolderError
from terrafl.reports import compare_runs, write_report
from terrafl.reports.html import report_page
from terrafl.reports.sections import make_sections

SUMMARY_DAMAGE = {
    "seed": ('"seed": 0', '"seed": "abc"', "seed must be an integer"),
    "nan": ('"accuracy": 0.', '"accuracy": NaN, "x": 0.', "it holds NaN"),
    "versions": ('"versions": {', '"versions": 3, "x": {', "versions must be an object"),
    "deep": ('"curve": [', '"curve": [' + "[" * 5000, "nested too deeply"),
    "rounds": ('"rounds": 2', f'"rounds": {10**18}', "rounds must be an integer from 0 to"),
    "empty": ("{", "", "summary.json must be the summary"),
}
LINES = {
    "round": '{"event":"cohort","round":1000000000000000000,"iteration":0,"clients":["a"]}',
    "deep": '{"event":"cohort","round":0,"iteration":0,"clients":' + "[" * 5000 + "}",
    "nan": '{"event":"evaluation","round":0,"accuracy":NaN}',
    "superscript": '{"event":"evaluation","round":"²","accuracy":0.5}',
    "surrogate": '{"event":"cohort","round":0,"iteration":0,"clients":["\\ud800"]}',
    "lengths": '{"event":"updates","round":0,"iteration":0,"clients":["a"],"update_norm":[]}',
    "negative": '{"event":"evaluation","round":0,"accuracy":0.5,"client_updates":-1}',
}


@pytest.fixture
def folders(tmp_path, a_summary, write_run):
    """A good run, and one to be damaged."""
    write_run(tmp_path / "runs" / "good", a_summary("random"))
    return tmp_path / "runs", write_run(tmp_path / "runs" / "bad", a_summary("terraform"))


def page_of(runs):
    comparison = compare_runs([runs])
    return report_page(comparison, make_sections(comparison))


@pytest.mark.parametrize("damage", SUMMARY_DAMAGE)
def test_a_bad_summary_is_left_out_and_listed(folders, tmp_path, damage):
    runs, bad = folders
    old, new, reason = SUMMARY_DAMAGE[damage]
    text = (bad / "summary.json").read_text()
    assert old in text
    (bad / "summary.json").write_text(text.replace(old, new, 1))

    comparison = compare_runs([runs])
    page = page_of(runs)

    assert [method.name for method in comparison.groups[0].methods] == ["Random"]
    ((name, said),) = comparison.unreadable
    assert name == "bad"
    assert reason in said
    assert "Runs that cannot be read" in page
    assert "<strong>bad</strong>: summary.json must be the summary" in page
    assert str(tmp_path) not in page


def test_if_no_run_can_be_read_that_is_an_error(folders):
    runs, _ = folders
    for path in runs.glob("*/summary.json"):
        path.write_text("{}")

    with pytest.raises(RunFolderError, match=r"bad/summary\.json must be the summary"):
        compare_runs([runs])


@pytest.mark.parametrize("file", ["journal.jsonl", "timings.jsonl"])
@pytest.mark.parametrize("line", LINES)
def test_a_run_with_a_bad_journal_is_shown_by_its_summary(folders, file, line):
    runs, bad = folders
    (bad / file).write_text('{"event":"drawn","round":0}\n' + LINES[line] + "\n")

    page = page_of(runs)

    assert "Terraform" in page
    assert f"<strong>bad</strong>: {file}, line 2, must be an event" in page


@pytest.mark.parametrize("text", ["?", "x = " + "[" * 5000, "a" + ".a" * 5000 + " = 1"])
def test_a_run_with_a_bad_configuration_is_shown_by_its_summary(folders, text):
    runs, bad = folders
    (bad / "config.toml").write_text(text)

    page = page_of(runs)

    assert "Terraform" in page
    assert "<strong>bad</strong>: config.toml must be a" in page


@pytest.mark.parametrize("eta", ["²", "9" * 5000, "-1", "x"])
def test_settings_that_are_no_numbers_are_only_shown(folders, eta):
    runs, bad = folders
    (bad / "config.toml").write_text(f'rounds = "{eta}"\n[selector]\neta = "{eta}"\n')

    assert eta in page_of(runs)


def test_a_variant_of_endless_digits_has_a_place(tmp_path, a_summary, write_run):
    for number, variant in enumerate(("9" * 5000, "eta=2", "²")):
        write_run(tmp_path / "runs" / str(number), a_summary("terraform", variant=variant))

    (group,) = compare_runs([tmp_path / "runs"]).groups

    assert [len(method.variant) for method in group.methods] == [5000, 5, 1]


def test_odd_but_possible_journals_are_drawn(folders, tmp_path):
    runs, bad = folders
    here = {"round": 0, "iteration": 0}
    rows = [{"id": c, "update_norm": 0.0, "num_examples": 0} for c in "ab"]
    split = {"clients": rows, "k_q1": 0, "k_q3": 2, "tau": 1, "hard": ["b"]}
    events = [
        {"event": "federation", "clients": 2, "ids": ["a", "b"], "sizes": [0, 0]},
        {"event": "cohort", **here, "clients": ["a", "b", "unlisted"]},
        {"event": "split", **here, **split},
        {"event": "evaluation", "round": 9_999_999, "accuracy": -7.0},
        {"event": "fairness", "round": 0, "tested": [0, 0], "correct": [0, 0]},
    ]
    (bad / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    times = [{"event": "selection", "round": 9_999_999, "iteration": 0, "seconds": 1e99}]
    (bad / "timings.jsonl").write_text("".join(json.dumps(event) + "\n" for event in times))

    page = write_report([runs], tmp_path / "report").read_text()

    assert "Runs that cannot be read" not in page
    assert (tmp_path / "report" / "selection-digits-1-fedavg.svg").exists()
