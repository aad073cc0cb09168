"""Robust rules in place of the mean: median, trimmed mean, Krum, multi-Krum."""

from terrafl.defences.robust.coordinates import Median, TrimmedMean
from terrafl.defences.robust.krum import Krum, MultiKrum
from terrafl.defences.robust.rule import Aggregation, require_tolerable

__all__ = [
    "AGGREGATIONS",
    "Aggregation",
    "Krum",
    "Median",
    "MultiKrum",
    "TrimmedMean",
    "require_tolerable",
]

AGGREGATIONS: dict[str, type[Aggregation]] = {
    cls.name: cls for cls in (Median, TrimmedMean, Krum, MultiKrum)
}
