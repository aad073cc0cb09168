"""Federated algorithms: what clients minimise and how their models are combined."""

from terrafl._lazy import catalog
from terrafl.algorithms.fedavg import FedAvg as FedAvg
from terrafl.algorithms.fedprox import FedProx as FedProx
from terrafl.algorithms.protocol import Algorithm as Algorithm
from terrafl.algorithms.protocol import LocalStep as LocalStep
from terrafl.algorithms.protocol import Mean as Mean
from terrafl.algorithms.protocol import NotAggregated as NotAggregated
from terrafl.algorithms.protocol import RunFacts as RunFacts

# A new algorithm is one file and one line here; tables show them in this order.
ALGORITHMS: dict[str, type[Algorithm]] = catalog(
    "terrafl.algorithms.fedavg:FedAvg",
    "terrafl.algorithms.fedprox:FedProx",
    "terrafl.algorithms.fedavgm:FedAvgM",
    "terrafl.algorithms.adaptive:FedAdagrad",
    "terrafl.algorithms.adaptive:FedAdam",
    "terrafl.algorithms.adaptive:FedYogi",
    "terrafl.algorithms.fednova:FedNova",
    "terrafl.algorithms.scaffold:Scaffold",
    "terrafl.algorithms.feddyn:FedDyn",
    "terrafl.algorithms.feddc:FedDC",
    "terrafl.algorithms.moon:Moon",
)
