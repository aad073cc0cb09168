"""Robust rules in place of the mean: median, trimmed mean, Krum, multi-Krum."""

from terrafl.defences.robust.coordinates import Median as Median
from terrafl.defences.robust.coordinates import TrimmedMean as TrimmedMean
from terrafl.defences.robust.krum import Krum as Krum
from terrafl.defences.robust.krum import MultiKrum as MultiKrum
from terrafl.defences.robust.rule import Aggregation as Aggregation
from terrafl.defences.robust.rule import require_tolerable as require_tolerable

AGGREGATIONS: dict[str, type[Aggregation]] = {
    cls.name: cls for cls in (Median, TrimmedMean, Krum, MultiKrum)
}
