"""Oort's draw of a cohort, given the utilities of the clients."""

from typing import NamedTuple

import numpy as np

from terrafl.records import Floats, Positions
from terrafl.selection.oort.presets import OortRules


class Standing(NamedTuple):
    """The clients that may be drawn in a round, with their utilities or weights.

    Parameters
    ----------
    explored, utilities
        Clients that have taken part, and their utilities.
    unexplored, appeals
        Clients that have never taken part, and their weights in the draw.
    """

    explored: Positions
    utilities: Floats
    unexplored: Positions
    appeals: Floats


class Picks(NamedTuple):
    """A cohort, grouped by why each client was drawn; ``filled`` took the remaining places."""

    exploited: Positions
    explored: Positions
    filled: Positions


def pick(
    generator: np.random.Generator,
    standing: Standing,
    wanted: int,
    exploration: float,
    rules: OortRules,
) -> Picks:
    """Fill ``wanted`` places by utility and with unexplored clients.

    Places that unexplored clients cannot fill go to exploitation under the ``paper`` formula and
    are filled uniformly under the ``released`` formula. Under the ``fedscale`` formula they stay
    empty, unless everybody is wanted.
    """
    known, unknown = standing.explored, standing.unexplored
    everybody = len(known) + len(unknown)
    wanted = min(wanted, everybody)
    places = min(num_places(wanted, exploration, rules), len(known))
    new_places = min(wanted - places, len(unknown))
    if rules.formula == "paper":
        places = wanted - new_places
    admitted = admit(standing.utilities, places, rules)
    exploited = draw_by_weight(generator, known[admitted], standing.utilities[admitted], places)
    tried = _considered(standing.appeals, new_places, rules)
    explored = draw_by_weight(generator, unknown[tried], standing.appeals[tried], new_places)
    others = np.setdiff1d(known, exploited)
    empty = rules.formula == "fedscale" and wanted < everybody
    left = 0 if empty else wanted - places - new_places
    filled = generator.choice(others, size=left, replace=False) if left else others[:0]
    return Picks(exploited, explored, filled)


def num_places(wanted: int, exploration: float, rules: OortRules) -> int:
    r"""Return $\lfloor (1 - \varepsilon) \cdot wanted \rfloor$, under ``fedscale`` rounded up."""
    # Rounding can put a product such as 10 * (1 - 0.9) just below its integer; 1e-9 corrects it.
    if rules.formula == "fedscale":
        return wanted - int(exploration * wanted + 1e-9)
    return int((1 - exploration) * wanted + 1e-9)


def admit(utilities: Floats, places: int, rules: OortRules) -> Positions:
    r"""Return the positions of the clients that compete for the places, best first.

    A client is admitted if its utility is at least the share $c$ of the utility at rank
    ``places`` (``paper``) or at the next rank (the programs). Enough clients to fill the places
    are always admitted; under the ``fedscale`` formula, ten times as many and one more.
    """
    order = np.argsort(-utilities, kind="stable")
    if places == 0:
        return order[:0]
    rank = places - 1 if rules.formula == "paper" else min(places, len(order) - 1)
    threshold = rules.cut_off * utilities[order[rank]]
    least = 10 * places + 1 if rules.formula == "fedscale" else places
    return order[: max(int((utilities >= threshold).sum()), least)]


def _considered(appeals: Floats, places: int, rules: OortRules) -> Positions:
    """Return the positions of the unexplored clients that may be drawn."""
    if rules.formula == "paper":
        return np.arange(len(appeals))
    return np.argsort(-appeals, kind="stable")[: int(rules.sample_window * places)]


def draw_by_weight(
    generator: np.random.Generator, clients: Positions, weights: Floats, count: int
) -> Positions:
    """Draw distinct clients one after another, each in proportion to its weight.

    A weight of zero is replaced by a very small one, so that all places can be filled.
    """
    if count == 0:
        return clients[:0]
    top = float(weights.max())
    weights = np.maximum(weights / top, 1e-12) if top > 0 else np.ones(len(clients))
    return generator.choice(clients, size=count, replace=False, p=weights / weights.sum())


def fastest(generator: np.random.Generator, picks: Picks, durations: Floats, count: int) -> Picks:
    """Keep the fastest clients of an overcommitted cohort; ties are broken at random."""
    drawn = np.concatenate(picks)
    if len(drawn) <= count:
        return picks
    shuffled = generator.permutation(drawn)
    kept = shuffled[np.argsort(durations[shuffled], kind="stable")[:count]]
    return Picks(*(part[np.isin(part, kept)] for part in picks))
