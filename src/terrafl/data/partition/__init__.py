"""Partitions of a data set among clients."""

from terrafl.data.partition.alpha_groups import AlphaGroups
from terrafl.data.partition.iid import Iid
from terrafl.data.partition.label_dirichlet import LabelDirichlet
from terrafl.data.partition.owner import ByOwner
from terrafl.data.partition.partition import Partition, Partitioner
from terrafl.data.partition.ragged import Ragged
from terrafl.data.partition.shards import Shards
from terrafl.data.partition.skew import Holdings, Skew

__all__ = [
    "PARTITIONERS",
    "AlphaGroups",
    "ByOwner",
    "Holdings",
    "Iid",
    "LabelDirichlet",
    "Partition",
    "Partitioner",
    "Ragged",
    "Shards",
    "Skew",
]

PARTITIONERS: dict[str, type[Partitioner]] = {
    cls.name: cls for cls in (AlphaGroups, Iid, Shards, LabelDirichlet, ByOwner)
}
"""Partitioners by name, for configuration files and the command line."""
