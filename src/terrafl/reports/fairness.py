r"""How evenly the work is spread, and how accurate the model is for the worst clients.

With $x_k$ the number of times client $k$ of $N$ trained, the Gini coefficient is

.. math:: G = \frac{\sum_i \sum_j |x_i - x_j|}{2 N \sum_k x_k},

0 when all trained equally often, near 1 when one client did all the work. The worst decile is the
mean accuracy of the $\lceil n / 10 \rceil$ clients with the lowest accuracy, of the $n$ that have
test data.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from terrafl.reports.estimates import Estimate, estimate
from terrafl.reports.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """Means over the runs of a method; ``None`` where the journals do not say.

    Parameters
    ----------
    gini
        Of participation.
    never_percent
        Clients that never trained.
    worst_decile, mean, spread
        Of the clients' accuracies in percent: worst tenth, mean, and standard deviation.
    """

    gini: Estimate | None
    never_percent: Estimate | None
    worst_decile: Estimate | None
    mean: Estimate | None
    spread: Estimate | None


def gini(counts: Sequence[int]) -> float:
    """Return the Gini coefficient of participation; 0 when no client took part.

    Examples
    --------
    >>> gini([3, 3, 3]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    x = np.sort(np.asarray(counts, dtype=np.float64))
    total, n = x.sum(), len(x)
    if not total:
        return 0.0
    ranks = np.arange(1, n + 1)
    return float((2 * (ranks * x).sum() / total - (n + 1)) / n)


def worst_decile(accuracies: Sequence[float]) -> float:
    """Return the mean of the lowest tenth.

    Examples
    --------
    >>> worst_decile([0.9] * 18 + [0.1, 0.3])
    0.2
    """
    return fmean(sorted(accuracies)[: math.ceil(len(accuracies) / 10)])


def fairness_of(traces: Sequence[Trace]) -> Fairness:
    """Measure the runs of one method.

    Participation is counted over all clients, so it is known only if the journal lists them.
    """
    counts = [t.participation() for t in traces if t.federation.listed and t.steps]
    served = [[a for a in t.served if a is not None] for t in traces]
    served = [accuracies for accuracies in served if accuracies]
    return Fairness(
        gini=estimate([gini(c) for c in counts]),
        never_percent=estimate([100 * c.count(0) / len(c) for c in counts]),
        worst_decile=estimate([100 * worst_decile(a) for a in served]),
        mean=estimate([100 * fmean(a) for a in served]),
        spread=estimate([100 * float(np.std(a)) for a in served]),
    )
