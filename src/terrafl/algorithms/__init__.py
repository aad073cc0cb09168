"""Federated algorithms: what clients minimise and how their models are combined."""

from terrafl.algorithms.fedavg import FedAvg
from terrafl.algorithms.fedprox import FedProx
from terrafl.algorithms.protocol import Algorithm, Mean, NotAggregated, RunFacts

__all__ = ["ALGORITHMS", "Algorithm", "FedAvg", "FedProx", "Mean", "NotAggregated", "RunFacts"]

ALGORITHMS: dict[str, type[Algorithm]] = {cls.name: cls for cls in (FedAvg, FedProx)}
