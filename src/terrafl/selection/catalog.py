"""Selectors by name, for configuration files and the command line."""

from terrafl._lazy import catalog
from terrafl.selection.protocol import Selector

# A new selector is one file and one line here; tables show them in this order.
SELECTORS: dict[str, type[Selector]] = catalog(
    "terrafl.selection.uniform:Random",
    "terrafl.selection.hbase:HBase",
    "terrafl.selection.power_of_choice:PowerOfChoice",
    "terrafl.selection.hics:HiCSFL",
    "terrafl.selection.oort:Oort",
    "terrafl.selection.terraform:Terraform",
)
