"""Which clients should train? Terraform and the methods it is compared with, in one interface.

Pure numpy; only HiCS-FL loads scipy, when it clusters.
"""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.records import Cohort as Cohort
    from terrafl.records import Population as Population
    from terrafl.records import Refusal as Refusal
    from terrafl.records import Report as Report
    from terrafl.selection.catalog import SELECTORS as SELECTORS
    from terrafl.selection.hbase import HBase as HBase
    from terrafl.selection.hics import HiCSFL as HiCSFL
    from terrafl.selection.needs import Measurement as Measurement
    from terrafl.selection.needs import register as register
    from terrafl.selection.oort import Oort as Oort
    from terrafl.selection.power_of_choice import PowerOfChoice as PowerOfChoice
    from terrafl.selection.protocol import Context as Context
    from terrafl.selection.protocol import Selector as Selector
    from terrafl.selection.report import judge as judge
    from terrafl.selection.splitting import Split as Split
    from terrafl.selection.splitting import split as split
    from terrafl.selection.terraform import Terraform as Terraform
    from terrafl.selection.uniform import Random as Random

__getattr__, __dir__ = lazily(__name__, __file__)
