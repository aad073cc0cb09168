"""Oort's durations of clients, and the pacer that sets the preferred duration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from terrafl.errors import require
from terrafl.records import Floats, Population
from terrafl.seeds import stream
from terrafl.selection.oort.presets import OortRules

Durations = Literal["equal", "seeded", "measured"] | Mapping[str, float]

# A client may report any duration; speeds are inverses of durations, and sums must stay finite.
_SHORTEST_S, _LONGEST_S = 1e-4, 1e9


def durations_s(
    durations: Durations, population: Population, speed_seed: int, measured: Floats
) -> Floats:
    """Return the seconds that each client of the population is expected to take.

    Parameters
    ----------
    durations
        ``equal``: one second each. ``seeded``: log-normal with median 1 and sigma 1, drawn in
        the order of ids. ``measured``: as measured. A mapping gives the seconds of each client.
    population
        All clients.
    speed_seed
        Seed of the ``seeded`` durations.
    measured
        Last measured seconds of each client; NaN, if there are none, is replaced by the median of
        the other clients.
    """
    if durations == "equal":
        return np.ones(len(population))
    if durations == "seeded":
        return stream(speed_seed, "speed").lognormal(0.0, 1.0, size=len(population))
    if durations == "measured":
        missing = np.isnan(measured)
        credible = np.clip(measured, _SHORTEST_S, _LONGEST_S)
        typical = 1.0 if missing.all() else float(np.median(credible[~missing]))
        return np.where(missing, typical, credible)
    unnamed = [client for client in population.ids.tolist() if client not in durations]
    require(not unnamed, "durations", unnamed[:3], "given for every client; add these")
    return np.array([durations[client] for client in population.ids.tolist()], dtype=np.float64)


@dataclass(slots=True)
class Pacer:
    r"""Raise the preferred duration when the utility of the drawn clients falls.

    At the end of every window of $W$ rounds, not in every round, the sum of utilities in it is
    compared with that of the previous window. ``paper``: the sum is over all reports; if it fell,
    $T$ grows by $\Delta$. The programs: the sum is over the rounds' mean utilities of exploited
    clients; if it changed by at most a tenth, $T$ grows by $\Delta$; if it changed by five times or
    more, $T$ shrinks by $\Delta$.

    Parameters
    ----------
    preference
        The preferred duration, in the unit of the rules.
    previous, current
        Sum of utilities in the last complete window (NaN before there is one) and in this one.
    """

    preference: float
    previous: float = float("nan")
    current: float = 0.0

    def begin(self, rounds_done: int, rules: OortRules) -> None:
        """Adjust the preferred duration if a window is complete."""
        if rounds_done == 0 or rounds_done % rules.pacer_window != 0:
            return
        self.preference += rules.pacer_delta * self._direction(rules)
        if rules.formula != "paper":
            self.preference = min(max(self.preference, rules.pacer_delta), 100.0)
        self.previous, self.current = self.current, 0.0

    def _direction(self, rules: OortRules) -> int:
        if rules.formula == "paper":
            return 1 if self.previous > self.current else 0
        change = abs(self.current - self.previous)  # NaN compares as false: no step
        if change <= 0.1 * self.previous:
            return 1
        return -1 if change >= 5 * self.previous else 0

    def preferred_s(self, durations: Floats, rules: OortRules) -> float:
        """Return the preferred duration $T$: median durations, or a percentile of them."""
        if rules.formula == "paper":
            return self.preference * float(np.median(durations))
        if self.preference >= 100:
            return float("inf")
        rank = int(len(durations) * self.preference / 100)
        return float(np.partition(durations, rank)[rank])
