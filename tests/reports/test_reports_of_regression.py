"""What people read about runs whose score is R²: its name, plain numbers, and no percent."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from terrafl.cli.main import app
from terrafl.cli.progress import run_progress
from terrafl.experiments.compared import Compared
from terrafl.reports import compare_runs, html_table, plot_runs, rows, to_latex, verdict
from terrafl.reports.collect import find_runs
from terrafl.reports.comparison import compare
from terrafl.reports.live.feed import Feed, Overview
from terrafl.reports.live.watched import Watched


@pytest.fixture
def group(regression_runs):
    (group,) = compare_runs([regression_runs]).groups
    return group


def mean_r2(group, number):
    accuracies = [run.summary.accuracy for run in group.methods[number].runs]
    return sum(accuracies) / len(accuracies)


def words_of(page):
    """Return the text of a page without its scripts, styles and data."""
    text = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", Path(page).read_text(), flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", text)


def test_the_page_names_r2_and_writes_plain_numbers(group, regression_report):
    words = words_of(regression_report)

    body, footer = words.split("How to read this.")
    assert "ccurac" not in body
    assert "(%)" not in body
    assert "(points)" not in body
    for number in (0, 1):
        assert f"{mean_r2(group, number):.4f} ±" in body
    assert "After the last round (R²)" in body
    assert "Worst-decile client R²" in body
    assert re.search(r"Participants. R²", body)
    assert "a higher score is better" in footer


def test_the_verdict_gives_the_best_r2(group):
    best = max(mean_r2(group, number) for number in (0, 1))

    assert f"leads with R² {best:.3f}" in verdict(group)


def test_tables_are_in_r2(group, regression_report):
    folder = regression_report.parent
    mean = f"{mean_r2(group, 0):.4f}"

    markdown, latex = (folder / "table.md").read_text(), (folder / "table.tex").read_text()
    assert markdown.splitlines()[0].endswith("linear, FedAvg, R²")
    assert mean in markdown
    assert r"After the last round (R$^2$)" in latex
    assert mean in latex


def test_columns_called_percent_hold_percent(regression_runs, group):
    first = rows(compare_runs([regression_runs]))[0]

    assert first["metric"] == "r2"
    assert first["accuracy_percent"] == pytest.approx(100 * mean_r2(group, 0))


def test_a_latex_table_of_both_tasks_names_both_units(regression_runs, real_runs):
    both = compare([*find_runs([regression_runs])[0], *find_runs([real_runs])[0]])

    assert r"At equal client updates (R$^2$ or \%)" in to_latex(both)


def test_curves_are_drawn_in_r2(group, regression_runs):
    axes = plot_runs([regression_runs]).subfigs[0].axes[0]

    assert axes.get_ylabel() == "R² on the pooled test set"
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(mean_r2(group, 0))


def test_the_live_page_is_told_the_metric(group, regression_runs):
    overview = Overview(Watched([regression_runs]))
    overview.look()
    news = "".join(Feed(overview).news())

    assert '"metric":{"name":"R\\u00b2","is_percent":false}' in news
    score = group.methods[0].runs[0].summary.accuracy
    assert f"{round(score, 5)}" in news


def test_notebooks_and_the_python_api_name_r2(group, regression_runs):
    compared = Compared.read([regression_runs])

    assert "After the last round (R²)" in html_table(compared.comparison)
    assert f"Random R² {mean_r2(group, 0):.3f}" in repr(compared)
    assert repr(compared).endswith("mean R² after the last round)")


def test_the_terminal_names_r2(regression_runs, tmp_path, group):
    shown = CliRunner().invoke(app, ["report", str(regression_runs), "--out", str(tmp_path)])

    assert "FedAvg: test R², mean ± sd over 2 seeds" in " ".join(shown.output.split())
    assert f"{mean_r2(group, 0):.4f} ±" in shown.output
    assert "%" not in shown.output.split("selector")[1].split("After")[0]


def test_progress_shows_r2(capsys):
    with run_progress("mine", "r2", quiet=False) as on_round:
        on_round(6, 6, 0.4534)

    assert capsys.readouterr().err == "mine: round 6 of 6 R² 0.453\n"


def test_the_last_line_of_a_run_names_r2(regression_runs):
    shown = CliRunner().invoke(app, ["resume", str(regression_runs / "random-s0")])

    assert re.search(r"random with fedavg on .*: R² -?\d\.\d{4} after 6 rounds", shown.output)
