"""The report and the live page of a regression in a real browser: R², never percent."""

import pytest

from terrafl.reports import compare_runs


@pytest.fixture
def best(regression_runs):
    (group,) = compare_runs([regression_runs]).groups
    return next(m for m in group.methods if m.last_round.rank == 1)


def test_the_curves_are_labelled_and_read_in_r2(open_page, regression_report, best):
    page = open_page(regression_report.as_uri())
    plot = page.locator("[data-chart=curves] .plot")
    plot.wait_for()

    mean = f"{best.last_round.percent / 100:.4f}"
    assert plot.get_attribute("aria-label").startswith("R² per round, at the end: ")
    assert f"{best.name} {mean}" in plot.get_attribute("aria-label")
    page.locator("[data-chart=curves] .u-over").hover(position={"x": 200, "y": 50})
    page.wait_for_selector("#tip:not([hidden])")
    words = page.inner_text("#tip")
    assert ", R²" in words
    assert "%" not in words


def test_a_live_run_shows_its_newest_r2(watching, open_page, regression_runs):
    page = open_page(watching(str(regression_runs)))
    newest = compare_runs([regression_runs]).groups[0].methods[0].runs[0].summary.accuracy

    page.wait_for_selector(f"#watched b:has-text('R² {newest:.4f}')")
    assert "%" not in page.inner_text("#watched")
