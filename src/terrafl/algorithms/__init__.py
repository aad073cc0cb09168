"""Federated algorithms: what clients minimise and how their models are combined."""

from terrafl._lazy import catalog
from terrafl.algorithms.fedavg import FedAvg
from terrafl.algorithms.fedprox import FedProx
from terrafl.algorithms.protocol import Algorithm, Mean, NotAggregated, RunFacts

__all__ = ["ALGORITHMS", "Algorithm", "FedAvg", "FedProx", "Mean", "NotAggregated", "RunFacts"]

# A new algorithm is one file and one line here; tables show them in this order.
ALGORITHMS: dict[str, type[Algorithm]] = catalog(
    "terrafl.algorithms.fedavg:FedAvg",
    "terrafl.algorithms.fedprox:FedProx",
)
