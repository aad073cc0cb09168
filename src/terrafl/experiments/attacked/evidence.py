r"""What a run's journal says about its attackers.

The share of client $k$ in round $r$ is its part of the aggregation weight, added up over the
round's iterations $t$,

.. math:: a_{k,r} = \sum_t \frac{w_{k,t}}{\sum_j w_{j,t}}

which is 0 in an iteration whose average it is not part of. Shares are averaged over the rounds in
which the client was drawn.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

from terrafl.runs.events import Attackers, Averaged, Cohort, Event, Guarded, Refused

Place = tuple[int, int, str]  # round, iteration, client

_CAUGHT = ("refused", "quarantined", "corrected")
_BOUNDED = ("clipped", "capped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Shares of aggregation weight, and the updates that were caught.

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
        Share of the updates sent by attackers, and by others, that were rejected by the intake
        checks, quarantined, or whose report was false.
    bounded, falsely_bounded
        Share that was clipped, or whose size was capped: a bound, not an accusation.
    actions
        The same by action: share of the attackers' updates, and of the others'.
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


def weigh(events: Iterable[Event]) -> Evidence:
    """Read the evidence out of a journal."""
    hostile: frozenset[str] = frozenset()
    shares: defaultdict[tuple[str, int], float] = defaultdict(float)
    sent: list[Place] = []
    done: dict[str, set[Place]] = defaultdict(set)
    for event in events:
        match event:
            case Attackers():
                hostile = frozenset(event.clients)
            case Cohort():
                sent += [(event.round, event.iteration, client) for client in event.clients]
                for client in event.clients:
                    shares[client, event.round] += 0.0  # drawn, even if it is never averaged
            case Averaged():
                total = sum(event.weights)
                for client, weight in zip(event.clients, event.weights, strict=True):
                    shares[client, event.round] += weight / total if total else 0.0
            case Refused():
                done["refused"].add((event.round, event.iteration, event.client))
            case Guarded():
                done[event.action].add((event.round, event.iteration, event.client))
    return _summed_up(hostile, shares, sent, done)


def _summed_up(
    hostile: frozenset[str],
    shares: Mapping[tuple[str, int], float],
    sent: list[Place],
    done: Mapping[str, set[Place]],
) -> Evidence:
    by_client: dict[str, list[float]] = defaultdict(list)
    for (client, _), share in shares.items():
        by_client[client].append(share)
    honest = [s for client, rounds in by_client.items() if client not in hostile for s in rounds]
    attackers = {client: rounds for client, rounds in by_client.items() if client in hostile}
    usual = fmean(honest) if honest else 0.0
    by_attackers = [place for place in sent if place[2] in hostile]
    by_others = [place for place in sent if place[2] not in hostile]

    def part(places: list[Place], *actions: str) -> float | None:
        touched = set().union(*(done.get(action, set()) for action in actions))
        return sum(place in touched for place in places) / len(places) if places else None

    return Evidence(
        attackers=len(hostile),
        draws=sum(map(len, attackers.values())),
        share=fmean(chain(*attackers.values())) / usual if attackers and usual else None,
        largest_share=max(map(fmean, attackers.values())) / usual if attackers and usual else None,
        caught=part(by_attackers, *_CAUGHT),
        falsely_caught=part(by_others, *_CAUGHT),
        bounded=part(by_attackers, *_BOUNDED),
        falsely_bounded=part(by_others, *_BOUNDED),
        actions={a: (part(by_attackers, a), part(by_others, a)) for a in sorted(done)},
    )
