"""A table of the paper as Markdown, CSV and LaTeX."""

import csv
import io

import pytest

from terrafl.paper.export import paper_csv, paper_latex
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.table import PaperTable

PAPER = {"Random": 80.0, "Terraform": 90.0}


def line_of(text, start):
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def shown(*blocks, **other):
    return paper_markdown(PaperTable("t", "T", blocks, **other), figures="figures/")


def test_the_overview_shows_the_papers_number_and_ours_with_its_deviation(a_block):
    percents = {"Random": {0: 70.0, 1: 72.0}, "Terraform": {0: 60.0, 1: 61.0}}
    text = shown(a_block(percents, printed=PAPER)).split("###")[0]

    assert line_of(text, "| Random |")[1] == "<u>80.00</u> / **71.00 ± 1.41**"
    assert line_of(text, "| Terraform |")[1] == "**90.00** / <u>60.50 ± 0.71</u>"


def test_nothing_is_best_before_all_of_the_papers_methods_were_run(a_block):
    text = shown(a_block({"Random": {0: 70.0}, "Terraform": {}, "Oort": {0: 60.0}}, printed=PAPER))

    assert line_of(text.split("###")[0], "| Random |")[1] == "<u>80.00</u> / 70.00"
    assert "<u>70" not in text
    assert "**70" not in text
    assert "Not run, so not in this verdict: Terraform." in text
    assert "The best of the paper's methods" not in text


def test_equal_methods_are_both_the_best_and_none_is_second(a_block):
    text = shown(a_block({"a": {0: 70.0}, "b": {0: 70.0}, "c": {0: 60.0}}))

    assert [line_of(text.split("###")[0], f"| {name} |")[1] for name in "abc"] == [
        "– / **70.00**",
        "– / **70.00**",
        "– / 60.00",
    ]
    assert line_of(text, "| S, FedAvg")[2] == "a and b 70.00"


def test_a_gain_names_who_has_it(a_block):
    percents = {"Random": {0: 75.0}, "Terraform": {0: 60.0}}
    text = shown(a_block(percents, printed=PAPER))

    assert line_of(text, "| Best over second")[1] == "Terraform +12.5 % / Random +25.0 %"


def test_what_is_beyond_the_paper_is_compared_and_not_ranked(a_block):
    percents = {"Random": {0: 70.0}, "Terraform": {0: 60.0}, "Ours": {0: 80.0}}
    text = shown(a_block(percents, beyond=["Ours"], costs={"Ours": 10}))

    assert line_of(text.split("###")[0], "| Ours |")[1] == "– / 80.00"
    assert line_of(text, "| Best over second")[1] == "– / Random +16.7 %"
    assert "After 2 rounds Random leads with 70.0 %" in text
    assert "Ours, ours, reaches 80.0 % (+10.00), at equal client updates 80.0 % (+10.00)." in text
    assert "At 20 client updates" in text  # what is beside the contest sets no budget
    assert line_of(text, "| S, FedAvg")[-1] == "80.00, 80.00, 80.00, 80.00"


def test_a_method_that_leads_only_at_the_end_is_told(a_block):
    block = a_block({"a": {0: 70.0}, "b": {0: 60.0}}, last_ten={"a": 50.0, "b": 59.0})

    assert "Over the last ten evaluations b leads, with a mean of 59.0 %." in shown(block)


def test_a_column_with_one_run_has_no_section_and_no_figure(a_block):
    text = shown(a_block({"a": {0: 70.0}, "b": {}}))

    assert "###" not in text
    assert "figures/" not in text
    assert "– / 70.00" in text


def test_a_section_says_how_much_was_run_and_shows_its_figure(a_block):
    text = shown(a_block({"a": {0: 70.0}, "b": {0: 60.0}}, scenario="fmnist-4"))

    assert "Profile laptop: 2 of 200 rounds, seed 0, model mlp." in text
    assert "(figures/t-fmnist-4-fedavg.svg)" in text


def test_of_times_the_shortest_is_the_best(a_block):
    percents = {"a": {0: 70.0}, "b": {0: 60.0}, "ours": {0: 65.0}}
    took = {"a": 12.0, "b": 10.0, "ours": 5.0}
    text = shown(a_block(percents, train_s=took, beyond=["ours"]), timed=True)

    overview = text.split("###")[0]
    assert [line_of(overview, f"| {name} |")[1] for name in took] == [
        "<u>12.00</u>",
        "**10.00**",
        "5.00",
    ]
    assert "Fastest is b with 10 s, slowest a with 12." in text


def test_a_csv_line_has_the_difference_and_the_gain_of_its_cell(a_block):
    block = a_block({"Random": {0: 75.0}, "Terraform": {0: 60.0}}, printed=PAPER)
    rows = list(csv.DictReader(io.StringIO(paper_csv(PaperTable("t", "T", (block,))))))

    random, terraform = rows
    assert (random["scenario"], random["profile"], random["model"]) == ("s", "laptop", "mlp")
    assert float(random["difference_to_paper"]) == pytest.approx(-5)
    assert float(random["gain_over_second_percent"]) == pytest.approx(25)
    assert float(terraform["paper_gain_over_second_percent"]) == pytest.approx(12.5)
    assert terraform["gain_over_second_percent"] == ""


def test_latex_has_all_columns_and_then_each(a_block):
    percents = {"Random": {0: 70.0, 1: 72.0}, "Terraform": {0: 60.0, 1: 61.0}}
    block = a_block(percents, printed=PAPER, label="50 %")
    text = paper_latex(PaperTable("t", "T", (block,)))

    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    assert r"50 \% [laptop]" in text
    assert r"\underline{80.00} / \textbf{71.00 $\pm$ 1.41}" in text
    assert r"Terraform +12.5 \% / Random +17.4 \%" in text
    details = text.split(r"\begin{tabular}")[2]
    random = next(line for line in details.splitlines() if line.startswith("Random"))
    assert random.split(" & ")[1:4] == ["80.00", r"\textbf{71.00 $\pm$ 1.41}", "$-$9.00"]
    widths = {line.count("&") for line in details.splitlines() if "&" in line}
    assert widths == {7}
