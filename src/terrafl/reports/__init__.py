"""Reports: what a set of finished runs shows, and what it does not.

Reads run folders only. Every accuracy is shown twice, after the last round and at equal client
updates, because methods differ in how much they train per round.
"""

from terrafl.reports.comparison import Comparison as Comparison
from terrafl.reports.comparison import Group as Group
from terrafl.reports.comparison import Method as Method
from terrafl.reports.comparison import Problem as Problem
from terrafl.reports.comparison import compare_runs as compare_runs
from terrafl.reports.curves import draw_curves as draw_curves
from terrafl.reports.curves import plot_runs as plot_runs
from terrafl.reports.html import html_table as html_table
from terrafl.reports.html import write_report as write_report
from terrafl.reports.looks import Pictures as Pictures
from terrafl.reports.tables import Row as Row
from terrafl.reports.tables import rows as rows
from terrafl.reports.tables import to_csv as to_csv
from terrafl.reports.tables import to_latex as to_latex
from terrafl.reports.tables import to_markdown as to_markdown
from terrafl.reports.tables import verdict as verdict
