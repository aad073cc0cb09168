"""The formulas of Oort, as functions of arrays."""

import math

import numpy as np
from numpy.typing import NDArray

from terrafl.records import Floats
from terrafl.selection.oort.presets import OortRules


def clip(utilities: Floats, quantile: float) -> float:
    r"""Return the utility at which utilities are clipped.

    Of $n$ utilities in ascending order it is the one at index $\lfloor n q \rfloor$, counted from
    0, or the last: with few clients nothing is clipped.
    """
    rank = min(int(len(utilities) * quantile), len(utilities) - 1)
    return float(np.partition(utilities, rank)[rank])


def rescale(utilities: Floats, rewards: Floats, quantile: float) -> Floats:
    r"""Clip and rescale utilities as the released programs do.

    .. math::
        \frac{\min(U, \mathrm{clip}) - m}{\max(\max R - m, 10^{-4})}, \quad m = 0.999 \min R

    over the positive rewards $R$: utilities of explored clients, sizes of unexplored clients.
    """
    rewards = rewards[rewards > 0]
    if len(rewards) == 0:
        return np.zeros(len(utilities))
    low = 0.999 * float(rewards.min())
    spread = max(float(rewards.max()) - low, 1e-4)
    return (np.minimum(utilities, clip(rewards, quantile)) - low) / spread


def temporal_uncertainty(now: int, last_rounds: Floats) -> Floats:
    r"""Return $\sqrt{0.1 \ln R / L}$ for the current round $R$ and last rounds $L$, from 1."""
    return np.sqrt(0.1 * math.log(now) / last_rounds)


def straggler_factor(durations: Floats, preferred_s: float, penalty: float) -> Floats:
    r"""Return $(T / t)^\alpha$ where $t > T$, and 1 elsewhere."""
    return (np.minimum(preferred_s, durations) / durations) ** penalty


def exploration_share(now: int, rules: OortRules) -> float:
    r"""Return $\varepsilon$ in round ``now``, counted from 1.

    It starts in the first round, or in the last round of the warm-up, and decays once per round.
    """
    rounds = now - max(1, rules.warm_up_rounds)
    return max(rules.exploration * rules.exploration_decay**rounds, rules.exploration_min)


def below_cap(participations: Floats, wanted: int, rules: OortRules) -> NDArray[np.bool_]:
    r"""Return which of these clients are not excluded for taking part too often.

    Clients that took part more than ``max_participations`` times are excluded, the most frequent
    first, up to ``max_excluded_fraction``. If fewer than ``wanted`` clients would remain, the cap
    is raised for all clients to the next multiple that leaves enough.
    """
    allowed = np.ones(len(participations), dtype=np.bool_)
    wanted = min(wanted, len(participations))
    if rules.max_participations is None or wanted == 0:
        return allowed
    needed = float(np.partition(participations, wanted - 1)[wanted - 1])
    cap = rules.max_participations * max(1, math.ceil(needed / rules.max_participations))
    most_frequent = np.argsort(-participations, kind="stable")
    permitted = int(rules.max_excluded_fraction * len(participations))
    allowed[most_frequent[: min(permitted, int((participations > cap).sum()))]] = False
    return allowed
