r"""What a run's journal says about its attackers.

The share of client $k$ in round $r$ is its part of the aggregation weight, added up over the
round's iterations $t$,

.. math:: a_{k,r} = \sum_t \frac{w_{k,t}}{\sum_j w_{j,t}}

which is 0 in an iteration whose average it is not part of. Shares are averaged over the rounds in
which the client was drawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

__all__ = ["Evidence", "weigh"]

Event = Mapping[str, Any]  # Any: what JSON can hold

_CAUGHT = ("refused", "quarantined", "corrected")
_BOUNDED = ("clipped", "capped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Shares of aggregation weight, and which updates were caught.

    Parameters
    ----------
    attackers
        Number of attackers.
    draws
        How often attackers were drawn, in total.
    share
        The attackers' mean share in rounds that drew them, in units of the honest mean.
    largest_share
        The mean share of the attacker for whom it is largest.
    caught, falsely_caught
        Part of the updates sent by attackers, and by others, that were refused, quarantined, or
        whose report was corrected.
    bounded, falsely_bounded
        Part of them that was clipped, or whose size was capped.
    actions
        The same by action: attackers' part, others' part.
    """

    attackers: int
    draws: int
    share: float | None
    largest_share: float | None
    caught: float | None
    falsely_caught: float | None
    bounded: float | None
    falsely_bounded: float | None
    actions: Mapping[str, tuple[float | None, float | None]]

    def to_plain(self) -> dict[str, Any]:  # Any: what JSON can hold
        """Return it as JSON values."""
        return asdict(self)


def weigh(events: Iterable[Event]) -> Evidence:
    """Read the evidence out of a journal."""
    hostile: frozenset[str] = frozenset()
    shares: dict[tuple[str, int], float] = {}
    sent: list[tuple[int, int, str]] = []
    done: dict[str, set[tuple[int, int, str]]] = defaultdict(set)
    for event in events:
        kind = event["event"]
        if kind == "attackers":
            hostile = frozenset(event["clients"])
        elif kind == "cohort":
            sent += [(event["round"], event["iteration"], client) for client in event["clients"]]
            if event["iteration"] == 0:
                shares |= {(client, event["round"]): 0.0 for client in event["clients"]}
        elif kind == "averaged":
            total = sum(event["weights"])
            for client, weight in zip(event["clients"], event["weights"], strict=True):
                shares[client, event["round"]] += weight / total
        elif kind in ("refused", "guard"):
            place = (event["round"], event["iteration"], event["client"])
            done[event.get("action", kind)].add(place)
    return _summed_up(hostile, shares, sent, done)


def _summed_up(
    hostile: frozenset[str],
    shares: Mapping[tuple[str, int], float],
    sent: list[tuple[int, int, str]],
    done: Mapping[str, set[tuple[int, int, str]]],
) -> Evidence:
    by_client: dict[str, list[float]] = defaultdict(list)
    for (client, _), share in shares.items():
        by_client[client].append(share)
    honest = [s for client, each in by_client.items() if client not in hostile for s in each]
    bad = {client: each for client, each in by_client.items() if client in hostile}
    usual = fmean(honest) if honest else 0.0
    theirs = [place for place in sent if place[2] in hostile]
    others = [place for place in sent if place[2] not in hostile]

    def part(places: list[tuple[int, int, str]], *actions: str) -> float | None:
        touched = set().union(*(done.get(action, set()) for action in actions))
        return sum(place in touched for place in places) / len(places) if places else None

    return Evidence(
        attackers=len(hostile),
        draws=sum(map(len, bad.values())),
        share=fmean(s for each in bad.values() for s in each) / usual if bad and usual else None,
        largest_share=max(map(fmean, bad.values())) / usual if bad and usual else None,
        caught=part(theirs, *_CAUGHT),
        falsely_caught=part(others, *_CAUGHT),
        bounded=part(theirs, *_BOUNDED),
        falsely_bounded=part(others, *_BOUNDED),
        actions={a: (part(theirs, a), part(others, a)) for a in sorted(done)},
    )
