"""Data sets, and partitions of them among clients."""

from terrafl.data.catalog import Description, available, check, describe, fetch, is_slow, load
from terrafl.data.dataset import Dataset, Examples, Normalisation
from terrafl.data.federated import FederatedData
from terrafl.data.files import FileStatus
from terrafl.data.npz_dataset import is_npz_path
from terrafl.data.partition import (
    PARTITIONERS,
    AlphaGroups,
    ByOwner,
    Holdings,
    Iid,
    LabelDirichlet,
    Partition,
    Partitioner,
    Ragged,
    Shards,
    Skew,
)

__all__ = [
    "PARTITIONERS",
    "AlphaGroups",
    "ByOwner",
    "Dataset",
    "Description",
    "Examples",
    "FederatedData",
    "FileStatus",
    "Holdings",
    "Iid",
    "LabelDirichlet",
    "Normalisation",
    "Partition",
    "Partitioner",
    "Ragged",
    "Shards",
    "Skew",
    "available",
    "check",
    "describe",
    "fetch",
    "is_npz_path",
    "is_slow",
    "load",
]
