"""Data sets, and partitions of them among clients."""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl.data.catalog import Description as Description
    from terrafl.data.catalog import available as available
    from terrafl.data.catalog import check as check
    from terrafl.data.catalog import describe as describe
    from terrafl.data.catalog import fetch as fetch
    from terrafl.data.catalog import is_slow as is_slow
    from terrafl.data.catalog import load as load
    from terrafl.data.dataset import Dataset as Dataset
    from terrafl.data.dataset import Examples as Examples
    from terrafl.data.dataset import Normalisation as Normalisation
    from terrafl.data.federated import FederatedData as FederatedData
    from terrafl.data.files import FileStatus as FileStatus
    from terrafl.data.npz_dataset import is_npz_path as is_npz_path
    from terrafl.data.partition import PARTITIONERS as PARTITIONERS
    from terrafl.data.partition.alpha_groups import AlphaGroups as AlphaGroups
    from terrafl.data.partition.iid_and_shards import Iid as Iid
    from terrafl.data.partition.iid_and_shards import Shards as Shards
    from terrafl.data.partition.label_dirichlet import LabelDirichlet as LabelDirichlet
    from terrafl.data.partition.owner import ByOwner as ByOwner
    from terrafl.data.partition.partition import Partition as Partition
    from terrafl.data.partition.partition import Partitioner as Partitioner
    from terrafl.data.partition.partition import Ragged as Ragged
    from terrafl.data.partition.skew import Holdings as Holdings

__getattr__, __dir__ = lazily(__name__, __file__)
