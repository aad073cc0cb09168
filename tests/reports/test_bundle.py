"""The data inside a page: complete, compact, and honest about what it leaves out."""

import gzip
import json
from base64 import b64decode

import numpy as np

from terrafl.reports import compare_runs
from terrafl.reports.bundle import MOST_POINTS, bundle, curve_columns, packed
from terrafl.reports.collect import Run
from terrafl.reports.html import render_page
from terrafl.reports.sections import Study, make_sections
from terrafl.reports.trace import read_trace
from terrafl.runs import RunFolder


def unpack(text):
    return json.loads(gzip.decompress(b64decode(text)))


def test_a_page_holds_every_run_with_its_curve_selections_and_clients(real_runs):
    sections = make_sections(compare_runs([real_runs]))

    plain = unpack(packed(sections))

    assert [run["name"] for run in plain["runs"]] == [
        *("random-s0", "random-s1", "terraform-s0", "terraform-s1"),
    ]
    assert len(plain["federations"]) == 2  # one per seed, shared by the methods
    for run in plain["runs"]:
        folder = RunFolder(real_runs / run["name"])
        summary, trace = folder.read_summary(), read_trace(folder)
        assert run["curve"]["updates"] == [p.client_updates for p in summary.curve]
        assert run["steps"]["client"] == [c for step in trace.steps for c in step.clients]
        assert sum(run["steps"]["size"]) == len(run["steps"]["value"]) == summary.client_updates
        assert sum(run["taken"]) == summary.client_updates


def test_too_much_is_thinned_round_by_round_but_counts_stay_exact(real_runs):
    sections = make_sections(compare_runs([real_runs]))
    whole = bundle(sections)

    thinned = unpack(packed(sections, most_bytes=len(packed(sections)) - 1))

    assert thinned["every"] == 2
    assert {r for run in thinned["runs"] for r in run["steps"]["round"]} == {0, 2, 4, 5}
    assert [run["taken"] for run in thinned["runs"]] == [run["taken"] for run in whole["runs"]]


def test_a_long_curve_is_thinned_to_real_evaluations_and_keeps_the_last(tmp_path, a_summary):
    (tmp_path / "journal.jsonl").write_text(
        "".join(
            json.dumps({"event": "evaluation", "round": r, "accuracy": r / 10_000}) + "\n"
            for r in range(10_000)
        )
    )

    trace = read_trace(RunFolder(tmp_path))
    columns = curve_columns(Study(Run("long", a_summary()), trace, {}), thin=True)

    assert 2 <= len(columns["round"]) <= MOST_POINTS
    assert columns["round"][-1] == 10_000
    assert columns["accuracy"][-1] == 99.99
    assert len(set(np.diff(columns["round"]))) == 1


def test_a_report_of_fifty_runs_is_below_three_megabytes(
    tmp_path, a_summary, write_run, long_journal
):
    for seed in range(50):
        curve = [(r, 22 * r, 100 * r, r / 201) for r in range(1, 201)]
        journal = list(long_journal(rounds=200, cohort=15, seed=seed))
        summary = a_summary("terraform", seed, 0.9, curve=curve)
        write_run(tmp_path / "runs" / f"{seed:02}", summary, journal)

    sections = make_sections(compare_runs([tmp_path / "runs"]))
    data = packed(sections)

    assert len(render_page(sections, data=data).encode()) < 3_000_000
    assert unpack(data)["every"] == 1  # nothing had to be left out
