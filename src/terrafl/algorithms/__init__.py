"""Federated algorithms: what clients minimise and how their models are combined."""

from terrafl.algorithms.aggregation import Aggregation, require_tolerable
from terrafl.algorithms.coordinates import Median, TrimmedMean
from terrafl.algorithms.fedavg import FedAvg
from terrafl.algorithms.fedprox import FedProx
from terrafl.algorithms.krum import Krum, MultiKrum
from terrafl.algorithms.protocol import Algorithm, LocalModel

__all__ = [
    "AGGREGATIONS",
    "ALGORITHMS",
    "Aggregation",
    "Algorithm",
    "FedAvg",
    "FedProx",
    "Krum",
    "LocalModel",
    "Median",
    "MultiKrum",
    "TrimmedMean",
    "require_tolerable",
]

ALGORITHMS: dict[str, type[Algorithm]] = {cls.name: cls for cls in (FedAvg, FedProx)}
AGGREGATIONS: dict[str, type[Aggregation]] = {
    cls.name: cls for cls in (Median, TrimmedMean, Krum, MultiKrum)
}
