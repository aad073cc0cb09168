"""Partitions of a data set among clients."""

from terrafl.data.partition.alpha_groups import AlphaGroups
from terrafl.data.partition.iid_and_shards import Iid, Shards
from terrafl.data.partition.label_dirichlet import LabelDirichlet
from terrafl.data.partition.owner import ByOwner
from terrafl.data.partition.partition import Partitioner

__all__ = ["PARTITIONERS"]

PARTITIONERS: dict[str, type[Partitioner]] = {
    cls.name: cls for cls in (AlphaGroups, Iid, Shards, LabelDirichlet, ByOwner)
}
"""Partitioners by name, for configuration files and the command line."""
