r"""Terraform: train, sort by update norm, cut, and train the hard part again.

References
----------
Balivada et al., "Heterogeneity-Aware Client Selection Methodology For Efficient Federated
Learning", Algorithm 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from terrafl.errors import ConfigurationError, require
from terrafl.records import Cohort, Json, Report
from terrafl.selection.candidate_splits import Weighting
from terrafl.selection.needs import Need
from terrafl.selection.protocol import Context, Selector
from terrafl.selection.splitting import Q1, Q3, Split, split

Signal = Literal["gradient", "weights", "bias", "loss"]
Fractional = Fraction | int | float | str
SearchRange = tuple[Fractional, Fractional]

_FIELDS: Mapping[Signal, Need] = {
    "gradient": "update_norm",
    "weights": "weight_norm",
    "bias": "bias_norm",
    "loss": "loss",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terraform(Selector):
    r"""Retrain the clients that the global model fits worst, in ever smaller cohorts.

    A round starts with $K$ clients drawn uniformly. After each iteration they are sorted by the
    norm of their final-layer update and cut at the split that minimises intra-split variance
    inside the data-weighted interquartile range; the part after the cut, the hard cluster,
    trains again, until fewer than $\eta$ clients would remain.

    Parameters
    ----------
    eta
        Smallest hard cluster worth another iteration, $\eta$.
    max_iterations
        Most iterations in a round, $T$; ``None`` leaves it to $\eta$.
    signal
        What clients are sorted by: the final layer's update, ``gradient`` (weight and bias
        together), ``weights`` or ``bias`` alone, or the training ``loss``.
    search_range
        Fractions $a < b$ of the cohort's data between which the cut is sought: ``"Q1"``,
        ``"Q3"``, or any fraction such as ``"1/3"``.
    weighting
        Weights of the two clusters in the intra-split variance: ``count`` as the paper prints
        it, or ``mass``, which obeys the law of total variance.
    anchor
        Keep the easy clients' work: every client's newest model of the round stays in the
        average, and the hard ones replace theirs as they train again. This is terrafl's
        variant, not the paper's.

    Notes
    -----
    The paper leaves some cases open. Position $\tau$ itself is easy. Equal norms are ordered by
    client id, as strings, and of equal variances the smallest $\tau$ wins, so the result does
    not depend on the order of arrival. When one client holds the middle half of the data the
    range is empty and $\tau = \min(k_{Q1}, N - 1)$, which the journal records. A cohort of one,
    or one without a single accepted report, ends the round. The whole model is aggregated;
    norms drive the selection only.

    Examples
    --------
    >>> Terraform(eta=2, search_range=("0", "Q3")).needs
    frozenset({'update_norm'})
    """

    name: ClassVar[str] = "terraform"

    eta: int = 4
    max_iterations: int | None = None
    signal: Signal = "gradient"
    search_range: SearchRange = ("Q1", "Q3")
    weighting: Weighting = "count"
    anchor: bool = False

    def __post_init__(self) -> None:
        require(self.eta >= 1, "eta", self.eta, "an integer of at least 1")
        most, must = self.max_iterations, "an integer of at least 1, or left out"
        require(most is None or most >= 1, "max_iterations", most, must)
        require(self.signal in _FIELDS, "signal", self.signal, f"one of {', '.join(_FIELDS)}")
        require(self.weighting in ("count", "mass"), "weighting", self.weighting, "count or mass")
        parse_range(self.search_range)

    @property
    def needs(self) -> frozenset[Need]:
        """The one number that clients are sorted by."""
        return frozenset({_FIELDS[self.signal]})

    @property
    def keeps_updates(self) -> bool:
        """An anchor keeps the easy clients' updates of the round in the average."""
        return self.anchor

    def smallest_cohort(self, clients_per_round: int) -> int:
        r"""Return the fewest clients that are averaged: $\eta$, unless an anchor keeps all."""
        return clients_per_round if self.anchor else min(self.eta, clients_per_round)

    def draw(self, context: Context) -> Cohort:
        """Draw $K$ clients uniformly: the round's first hard set."""
        return Cohort.of(context.population.names(context.draw_uniformly()))  # lines 5-6

    def refine(self, reports: Sequence[Report], context: Context) -> Cohort:
        """Return the hard cluster, or nobody when it is too small or $T$ is reached."""
        if len(reports) < 2:
            return Cohort()
        by_id = sorted(reports, key=lambda report: report.client_id)
        field = _FIELDS[self.signal]
        cut = split(  # lines 9-11
            np.array([report.value(field) for report in by_id], dtype=np.float64),
            np.array([report.num_examples for report in by_id], dtype=np.int64),
            search_range=parse_range(self.search_range),
            weighting=self.weighting,
        )
        hard = tuple(by_id[i].client_id for i in cut.hard)  # line 12
        last = self.max_iterations is not None and context.iteration >= self.max_iterations
        why = self._why(by_id, cut, hard)
        if len(hard) < self.eta or last:  # lines 13-15, and the end of the loop of line 7
            return Cohort(why=why)
        return Cohort.of(hard, why)

    def _why(self, by_id: Sequence[Report], cut: Split, hard: Sequence[str]) -> dict[str, Json]:
        field = _FIELDS[self.signal]
        ordered = [by_id[i] for i in cut.order]
        clients: list[Json] = [
            {"id": r.client_id, field: float(r.value(field)), "num_examples": r.num_examples}
            for r in ordered
        ]
        why: dict[str, Json] = {
            "event": "split",
            "round": by_id[0].round,
            "iteration": by_id[0].iteration,
            "signal": self.signal,
            "clients": clients,
            "k_q1": cut.first,
            "k_q3": cut.end,
            "tau": cut.tau,
            "hard": list(hard),
        }
        return why | {"empty_range": True} if cut.empty_range else why


_NAMED = {"Q1": Q1, "Q3": Q3}


def parse_range(ends: SearchRange) -> tuple[Fraction, Fraction]:
    """Read the two ends of a search range as exact fractions.

    Examples
    --------
    >>> parse_range(("Q1", "Q3"))
    (Fraction(1, 4), Fraction(3, 4))
    >>> parse_range((0, "1/3"))
    (Fraction(0, 1), Fraction(1, 3))
    >>> parse_range(("Q3", "Q1"))
    Traceback (most recent call last):
    ...
    terrafl.errors.ConfigurationError: search_range must be two fractions 0 <= a < b <= 1, \
such as Q1 and Q3; got ('Q3', 'Q1').
    """
    try:
        a, b = (_parse_fraction(end) for end in ends)
    except (ValueError, TypeError, ZeroDivisionError, OverflowError):
        a, b = Fraction(1), Fraction(0)
    must = "two fractions 0 <= a < b <= 1, such as Q1 and Q3"
    require(0 <= a < b <= 1, "search_range", ends, must)
    return a, b


def _parse_fraction(end: Fractional) -> Fraction:
    if isinstance(end, bool):
        raise ConfigurationError(f"a fraction is not a yes or no; got {end}.")
    text = str(end)  # a float is read as it is written: 0.1 means one tenth
    if "e" in text.lower():
        text = str(float(text))  # bounds the exponent, which a fraction would write out in full
    return _NAMED.get(text) or Fraction(text)
