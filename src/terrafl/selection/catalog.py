"""Selectors by name, for configuration files and the command line."""

from __future__ import annotations

from terrafl.selection.hbase import HBase
from terrafl.selection.hics import HiCSFL
from terrafl.selection.oort import Oort
from terrafl.selection.power_of_choice import PowerOfChoice
from terrafl.selection.protocol import Selector
from terrafl.selection.terraform import Terraform
from terrafl.selection.uniform import Random

__all__ = ["SELECTORS"]

SELECTORS: dict[str, type[Selector]] = {
    cls.name: cls for cls in (Random, HBase, PowerOfChoice, HiCSFL, Oort, Terraform)
}
