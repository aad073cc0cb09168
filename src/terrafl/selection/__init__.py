"""Which clients should train? Terraform and its rivals behind one interface.

Pure numpy; scipy is loaded by HiCS-FL when it clusters, and by nothing else.
"""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.selection.catalog import SELECTORS
    from terrafl.selection.hbase import HBase
    from terrafl.selection.hics import HiCSFL
    from terrafl.selection.oort import Oort
    from terrafl.selection.power_of_choice import PowerOfChoice
    from terrafl.selection.protocol import Cohort, Context, Population, Selector
    from terrafl.selection.report import Refusal, Report, judge
    from terrafl.selection.splitting import Split, split
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

__getattr__ = lazily(
    __name__,
    {
        "SELECTORS": "terrafl.selection.catalog",
        "HBase": "terrafl.selection.hbase",
        "HiCSFL": "terrafl.selection.hics",
        "Oort": "terrafl.selection.oort",
        "PowerOfChoice": "terrafl.selection.power_of_choice",
        **dict.fromkeys(
            ("Cohort", "Context", "Population", "Selector"), "terrafl.selection.protocol"
        ),
        **dict.fromkeys(("Refusal", "Report", "judge"), "terrafl.selection.report"),
        **dict.fromkeys(("Split", "split"), "terrafl.selection.splitting"),
        "Terraform": "terrafl.selection.terraform",
        "Random": "terrafl.selection.uniform",
    },
)
