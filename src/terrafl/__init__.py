"""Which clients should train? Client selection for federated learning.

>>> import terrafl
>>> terrafl.Terraform(eta=2).eta
2
"""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily

if TYPE_CHECKING:
    from terrafl._version import __version__ as __version__
    from terrafl.algorithms import FedAvg as FedAvg
    from terrafl.algorithms import FedProx as FedProx
    from terrafl.defences.guard import Guard as Guard
    from terrafl.experiments.api import compare as compare
    from terrafl.experiments.api import run as run
    from terrafl.experiments.run import resume as resume
    from terrafl.selection import HBase as HBase
    from terrafl.selection import HiCSFL as HiCSFL
    from terrafl.selection import Oort as Oort
    from terrafl.selection import PowerOfChoice as PowerOfChoice
    from terrafl.selection import Random as Random
    from terrafl.selection import Terraform as Terraform

__getattr__, __dir__ = lazily(__name__, __file__)
