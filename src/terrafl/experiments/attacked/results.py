r"""The results of the attack bench: evidence from each journal, one small file a run, the table.

The share of client $k$ in round $r$ is its part of the aggregation weight, added up over the
round's iterations $t$,

.. math:: a_{k,r} = \sum_t \frac{w_{k,t}}{\sum_j w_{j,t}}

which is 0 in an iteration whose average it is not part of. Shares are averaged over the rounds in
which the client was drawn.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from terrafl.defences import KINDS, Kind
from terrafl.errors import RunFolderError, require_known
from terrafl.experiments.attacked.plan import METHODS, Attacked
from terrafl.experiments.run import read_config
from terrafl.reports.formats import DASH, as_gap
from terrafl.reports.tables import Row, markdown_table
from terrafl.runs import RunFolder, read_events
from terrafl.runs.atomic import write_atomically
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The outcome of one run.

    Parameters
    ----------
    method, kind, seed
        Which run.
    fraction
        Share of the clients that attacks.
    scenario, rounds
        What was trained, and for how many rounds.
    accuracy, mean_last_ten
        On the pooled test set: after the last round, and of the last ten evaluations.
    evidence
        What the journal says about the attackers.
    configuration
        The whole configuration of the run; ``terrafl run`` repeats it.
    versions
        Versions of what the result depends on.
    """

    method: str
    kind: Kind
    seed: int
    fraction: float
    scenario: str
    rounds: int
    accuracy: float
    mean_last_ten: float
    evidence: Evidence
    configuration: Mapping[str, Any]  # Any: what TOML can hold
    versions: Mapping[str, str]


def keep(run: Attacked, results: Path) -> None:
    """Write the result of a finished run."""
    folder = RunFolder(run.cell.folder)
    summary, config = folder.read_summary(), read_config(folder)
    assert config.attack is not None
    kept = Kept(
        method=run.method,
        kind=run.kind,
        seed=summary.seed,
        fraction=config.attack.fraction,
        scenario=summary.scenario or summary.dataset,
        rounds=summary.rounds,
        accuracy=summary.accuracy,
        mean_last_ten=summary.mean_last_ten,
        evidence=weigh(read_events(folder.journal)),
        configuration=config.to_plain(),
        versions=dict(summary.versions),
    )
    text = json.dumps(asdict(kept), indent=1) + "\n"
    results.mkdir(parents=True, exist_ok=True)
    write_atomically(results / f"{folder.path.name}.json", text.encode())


def read_kept(results: Path) -> list[Kept]:
    """Read all result files in a folder, in the order of their names."""
    return [_read(path) for path in sorted(results.glob("*.json"))]


def _read(path: Path) -> Kept:
    try:
        plain = json.loads(path.read_bytes())
        kept = Kept(**plain | {"evidence": Evidence(**plain["evidence"])})
        require_known(kept.method, METHODS, "method must be one of")
        require_known(kept.kind, KINDS, "kind must be one of")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunFolderError(f"{path} must be a result of terrafl attack; {error}.") from error
    return kept


_HEADERS = {
    "attack": "Attack",
    "method": "Method",
    "accuracy": "Accuracy",
    "lost": "Lost",
    "lost_last_ten": "Lost, last ten",
    "share": "Share",
    "largest_share": "Largest share",
    "caught": "Caught",
    "falsely_caught": "(honest)",
    "bounded": "Bounded",
    "falsely_bounded": "(honest)",
}
_PERCENT = ("caught", "falsely_caught", "bounded", "falsely_bounded")


def attack_rows(kept: Sequence[Kept], methods: Sequence[str], kinds: Sequence[Kind]) -> list[Row]:
    """Return one row per attack and method; a run that was not made has no numbers.

    Accuracies and points lost are in percent, means over the seeds that were run; ``lost`` is
    against the same method and seed without an attack, after the last round and over the last
    ten evaluations. The rest is from :class:`Evidence`,
    parts in percent.
    """
    return [
        _row(method, kind, [run for run in kept if run.method == method])
        for kind in KINDS
        if kind in kinds
        for method in methods
    ]


def _row(method: str, kind: Kind, kept: Sequence[Kept]) -> Row:
    runs = [run for run in kept if run.kind == kind]
    row: Row = dict.fromkeys(_HEADERS)
    row |= {"attack": kind, "method": METHODS[method].label, "seeds": len(runs)}
    if not runs:
        return row
    calm = {run.seed: run for run in kept if run.kind == "none"}
    pairs = [(calm[run.seed], run) for run in runs if run.seed in calm]
    row["accuracy"] = 100 * fmean(run.accuracy for run in runs)
    if kind != "none" and pairs:
        row["lost"] = 100 * fmean(c.accuracy - r.accuracy for c, r in pairs)
        row["lost_last_ten"] = 100 * fmean(c.mean_last_ten - r.mean_last_ten for c, r in pairs)
    for name in ("share", "largest_share", *_PERCENT):
        known = [value for run in runs if (value := getattr(run.evidence, name)) is not None]
        scale = 100 if name in _PERCENT else 1
        row[name] = scale * fmean(known) if known else None
    return row


def attack_markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    cells = [[_shown(name, row) for name in _HEADERS] for row in rows]
    return "\n".join([*markdown_table([*_HEADERS.values()], cells, left=2), ""])


def _shown(name: str, row: Row) -> str:
    value = row[name]
    if isinstance(value, str):
        return value
    if value is None:
        return "not run" if name == "accuracy" else DASH
    if name in ("share", "largest_share"):
        return f"{value:.2f}×"
    if name in ("lost", "lost_last_ten"):
        return as_gap(value, None, None)
    return f"{value:.2f}" if name == "accuracy" else f"{value:.0f} %"
