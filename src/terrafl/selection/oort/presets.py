"""The constants of Oort in the paper and in three published programs.

The programs share formulas that differ from the paper's (``formula="released"``) and differ
from each other in constants; FedScale also differs in the draw (``formula="fedscale"``).
:mod:`terrafl.selection.oort.selector` describes the formulas.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from terrafl.errors import require

Preset = Literal["paper", "oort-repo", "fedscale", "hics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OortRules:
    r"""All constants of Oort; the defaults are the paper's.

    Parameters
    ----------
    formula
        ``paper``, or ``released`` for the formulas of the published programs; ``fedscale`` for
        those of FedScale, which differ from the other programs in the draw.
    loss
        The report's field that holds the loss: the mean of squared losses, or the mean loss.
    exploration, exploration_decay, exploration_min
        Share of unexplored clients in a cohort, $\varepsilon$: its first value, its factor per
        round, and its minimum.
    cut_off
        Share of the utility at the last exploited rank that a client must reach, $c$.
    clip_quantile
        Quantile at which utilities are clipped.
    penalty
        Exponent of the straggler factor, $\alpha$.
    preference, pacer_delta
        First preferred duration, and the pacer's step, $\Delta$: in median durations (``paper``)
        or percentiles of the durations (the programs).
    pacer_window
        Number of rounds in a window of the pacer, $W$.
    max_participations
        Number of participations after which a client is excluded; ``None``: never.
    max_excluded_fraction
        Largest share of the reachable clients that may be excluded for this reason.
    sample_window
        Unexplored clients considered, as a multiple of the places (the programs).
    overcommit
        Clients drawn, as a multiple of $K$; the $K$ fastest of them train.
    warm_up_rounds, warm_up
        Number of first rounds drawn at random, and whether uniformly or in proportion to size.
    min_examples
        Clients with fewer examples are not drawn while enough others can be reached.
    """

    formula: Literal["paper", "released", "fedscale"] = "paper"
    loss: Literal["squared_loss", "loss"] = "squared_loss"
    exploration: float = 0.9
    exploration_decay: float = 0.98
    exploration_min: float = 0.2
    cut_off: float = 0.95
    clip_quantile: float = 0.95
    penalty: float = 2.0
    preference: float = 1.0
    pacer_delta: float = 1.0
    pacer_window: int = 20
    max_participations: int | None = 10
    max_excluded_fraction: float = 1.0
    sample_window: float = 5.0
    overcommit: float = 1.0
    warm_up_rounds: int = 0
    warm_up: Literal["uniform", "size"] = "uniform"
    min_examples: int = 1

    def __post_init__(self) -> None:
        for name in (
            "exploration",
            "exploration_decay",
            "exploration_min",
            "cut_off",
            "clip_quantile",
            "max_excluded_fraction",
        ):
            value = getattr(self, name)
            require(0 <= value <= 1, name, value, "from 0 to 1")
        require(0 <= self.penalty < math.inf, "penalty", self.penalty, "0 or more")
        cap = self.max_participations
        require(cap is None or cap >= 1, "max_participations", cap, "an integer of at least 1")


_OORT_REPO = OortRules(
    formula="released",
    exploration_decay=0.95,
    cut_off=0.7,
    clip_quantile=0.98,
    preference=10.0,
    pacer_delta=5.0,
    max_participations=None,
    max_excluded_fraction=0.3,
    overcommit=1.1,
    warm_up_rounds=1,
    min_examples=32,
)

PRESETS: Mapping[Preset, OortRules] = MappingProxyType(
    {
        "paper": OortRules(),
        "oort-repo": _OORT_REPO,
        "fedscale": replace(
            _OORT_REPO,
            formula="fedscale",
            exploration_decay=0.98,
            exploration_min=0.3,
            cut_off=0.05,
            clip_quantile=0.9,
            preference=30.0,
            overcommit=1.3,
            min_examples=1,
        ),
        "hics": replace(
            _OORT_REPO,
            loss="loss",
            exploration_decay=0.8,
            overcommit=1.0,
            warm_up_rounds=25,
            warm_up="size",
            min_examples=1,
        ),
    }
)
