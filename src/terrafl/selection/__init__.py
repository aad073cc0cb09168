"""Which clients should train? Terraform and its rivals behind one interface.

Pure numpy; scipy is loaded by HiCS-FL when it clusters, and by nothing else.
"""

from terrafl.selection.catalog import SELECTORS
from terrafl.selection.hbase import HBase
from terrafl.selection.hics import HiCSFL
from terrafl.selection.oort import Oort
from terrafl.selection.power_of_choice import PowerOfChoice
from terrafl.selection.protocol import Cohort, Context, Population, Selector
from terrafl.selection.report import Refusal, Report, judge
from terrafl.selection.split import Split, split
from terrafl.selection.terraform import Terraform
from terrafl.selection.uniform import Random

__all__ = [
    "SELECTORS",
    "Cohort",
    "Context",
    "HBase",
    "HiCSFL",
    "Oort",
    "Population",
    "PowerOfChoice",
    "Random",
    "Refusal",
    "Report",
    "Selector",
    "Split",
    "Terraform",
    "judge",
    "split",
]
