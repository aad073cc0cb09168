"""Reports: what a set of finished runs shows, and what it does not.

Reads run folders only. Every accuracy is shown twice, after the last round and at equal client
updates, because methods differ in how much they train per round.
"""

from terrafl.reports.comparison import Comparison, Group, Method, Problem, compare_runs
from terrafl.reports.curves import draw_curves, plot_runs
from terrafl.reports.html import html_table, write_report
from terrafl.reports.looks import Pictures
from terrafl.reports.tables import Row, rows, to_csv, to_latex, to_markdown
from terrafl.reports.verdicts import verdict

__all__ = [
    "Comparison",
    "Group",
    "Method",
    "Pictures",
    "Problem",
    "Row",
    "compare_runs",
    "draw_curves",
    "html_table",
    "plot_runs",
    "rows",
    "to_csv",
    "to_latex",
    "to_markdown",
    "verdict",
    "write_report",
]
