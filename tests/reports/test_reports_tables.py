import csv
import io

import pytest

from terrafl.reports import compare_runs, rows, to_csv, to_latex, to_markdown
from terrafl.reports.comparison import Comparison

HOSTILE = r"<script>|a_b*\$&%#{}~^"


@pytest.fixture
def table(runs):
    return compare_runs([runs])


@pytest.fixture
def hostile(a_summary, a_group):
    return Comparison((a_group(a_summary(variant=HOSTILE)),))


def test_markdown_has_the_best_bold_and_the_second_underlined(table):
    lines = to_markdown(table).splitlines()

    assert lines[0] == "### digits-1, mlp, FedAvg"
    assert lines[2].startswith("| Method | Seeds | After the last round |")
    assert lines[4].startswith("| Random | 3 | <u>71.11 ± 0.89</u> | −8.89 [−15.51, −2.26] |")
    assert lines[6].startswith("| Terraform | 3 | **80.00 ± 1.78** | – |")


def test_every_line_of_a_markdown_table_has_as_many_cells(table, hostile):
    for text in (to_markdown(table), to_markdown(hostile)):
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert {line.replace(r"\|", "").count("|") for line in lines} == {8}


def test_markdown_shows_hostile_names_as_they_are(hostile):
    assert r"Random (&lt;script&gt;\|a\_b\*\\\$&amp;%\#{}\~^)" in to_markdown(hostile)


def test_csv_reads_back_in_full_precision(table):
    flat = rows(table)
    read = list(csv.DictReader(io.StringIO(to_csv(flat))))

    assert [row["selector"] for row in read] == ["random", "oort", "terraform"]
    assert float(read[0]["accuracy_percent"]) == flat[0]["accuracy_percent"]
    assert read[2]["accuracy_gap"] == ""


def test_latex_has_the_best_bold_and_the_second_underlined(table):
    lines = to_latex(table).splitlines()

    assert r"Terraform & \textbf{80.00 $\pm$ 1.78} & \textbf{75.00 $\pm$ 1.67} \\" in lines
    assert any(line.startswith(r"Random & \underline{71.11 $\pm$ 0.89} &") for line in lines)
    assert r"\multicolumn{3}{l}{\emph{digits-1, mlp, FedAvg, $B = 80$}} \\" in lines


def test_latex_shows_hostile_names_as_they_are(hostile):
    escaped = r"<script>|a\_b*\textbackslash{}\$\&\%\#\{\}\textasciitilde{}\textasciicircum{}"

    assert f"Random ({escaped}) & " in to_latex(hostile)


def test_one_seed_is_written_without_a_deviation(a_summary, a_group):
    table = Comparison((a_group(a_summary(accuracy=0.5), a_summary("oort", accuracy=0.4)),))

    assert "| Random | 1 | **50.00** | – |" in to_markdown(table)
    assert "| Oort | 1 | <u>40.00</u> | −10.00 |" in to_markdown(table)


def test_what_is_not_available_is_a_dash(a_summary, a_group):
    early, late = [(1, 10, 0, 0.6)], [(1, 18, 0, 0.5)]
    group = a_group(a_summary("random", curve=early), a_summary("oort", curve=late))
    table = Comparison((group,))

    assert to_markdown(table).splitlines()[5].endswith("| – | – | 18 |")
    assert r" & -- \\" in to_latex(table)


def test_no_rows_are_an_empty_table():
    assert to_markdown(Comparison(())) == ""
    assert to_csv([]).strip() == ""
    assert "Methodology" in to_latex(Comparison(()))
