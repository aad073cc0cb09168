"""A comparison in plain words, which claim no more than the numbers do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from terrafl.reports.comparison import Group, Method
from terrafl.reports.estimates import Difference, Score
from terrafl.reports.paper import PaperTable

__all__ = ["leading", "verdict"]

Rival = tuple[str, Difference | None]


def verdict(group: Group) -> str:
    """Say who leads a group, by both ways of counting, and whether the lead is more than noise.

    A difference is within noise when the 95 % interval of its mean over common seeds contains 0.
    """
    rounds = _span(run.summary.rounds for method in group.methods for run in method.runs)
    after = f"After {rounds} round{'' if rounds == '1' else 's'}"
    first = _standing(after, group.methods, _last_round)
    if len(group.methods) == 1:
        return first
    if _counts_agree(group):
        return f"{first} Every run made {group.budget:,} client updates: the budget was equal too."
    at_budget = f"At equal client updates (B = {group.budget:,})"
    return f"{first} {_standing(at_budget, group.methods, _equal_updates)}"


def leading(table: PaperTable) -> str:
    """Say how many columns each method leads, by both ways of counting; empty if none can be.

    Where the result is a time, leading is to be the fastest.
    """
    if table.timed:
        return _fastest(table)
    full = [block for block in table.blocks if all(line.method for line in block.lines)]
    if not full:
        return ""
    words = []
    for when, score in (
        ("after the last round", _last_round),
        ("at equal client updates", _equal_updates),
    ):
        first = Counter(
            line.label
            for block in full
            for line in block.lines
            if line.method and score(line.method).rank == 1
        )
        words.append(f"{when} by {_counted(first)}")
    return f"Columns with every method run: {len(full)}. Led {'; '.join(words)}."


def _fastest(table: PaperTable) -> str:
    first: Counter[str] = Counter()
    for block in table.blocks:
        took = [(line.train_s, line.label) for line in block.lines if line.train_s is not None]
        if len(took) == len(block.lines):
            first[min(took)[1]] += 1
    if not first:
        return ""
    return f"Columns with every method run: {first.total()}. Fastest: {_counted(first)}."


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({number})" for name, number in counts.most_common())


def _last_round(method: Method) -> Score:
    return method.last_round


def _equal_updates(method: Method) -> Score:
    return method.equal_updates


def _counts_agree(group: Group) -> bool:
    totals = {run.summary.client_updates for method in group.methods for run in method.runs}
    same = all(m.last_round.by_seed == m.equal_updates.by_seed for m in group.methods)
    return len(totals) == 1 and same


def _standing(opening: str, methods: Sequence[Method], score: Callable[[Method], Score]) -> str:
    scored = [(method.name, score(method)) for method in methods if score(method).estimate]
    if not scored:
        return f"{opening} there is no evaluation to compare."
    absent = [method.name for method in methods if score(method).estimate is None]
    missing = f" {_listed(absent)} had no evaluation by then." if absent else ""
    leaders = [name for name, s in scored if s.rank == 1]
    percent = next(f"{s.estimate.mean:.1f} %" for _, s in scored if s.rank == 1 and s.estimate)
    if len(scored) == 1:
        return f"{opening} {leaders[0]} reaches {percent}, with no other method beside it.{missing}"
    lead = "leads" if len(leaders) == 1 else "share the lead"
    rivals = [(name, s.to_best) for name, s in scored if s.rank != 1]
    noise = f"; {_noise(rivals, 'its' if len(leaders) == 1 else 'their')}" if rivals else ""
    return f"{opening} {_listed(leaders)} {lead} with {percent}{noise}.{missing}"


def _noise(rivals: Sequence[Rival], whose: str) -> str:
    judged = [(name, gap) for name, gap in rivals if gap and gap.within_noise is not None]
    if not judged:
        one = all(gap and gap.num_seeds == 1 for _, gap in rivals)
        return (
            f"{'one seed' if one else 'no two common seeds'}: no statement about noise can be made"
        )
    within = [name for name, gap in judged if gap.within_noise]
    behind = [name for name, gap in judged if not gap.within_noise and gap.mean < 0]
    # Only where seeds differ between methods can one beat the leader on the seeds they share.
    ahead = [name for name, gap in judged if not gap.within_noise and gap.mean > 0]
    unknown = [name for name, gap in rivals if (name, gap) not in judged]
    clauses = []
    if behind:
        clauses.append(f"{whose} lead over {_listed(behind)} is beyond noise")
    if within:
        plural = "the differences" if len(within) > 1 else "the difference"
        verb = "are" if len(within) > 1 else "is"
        clauses.append(f"{plural} to {_listed(within)} {verb} within noise")
    if ahead:
        clauses.append(f"on the seeds they share {_listed(ahead)} did better, beyond noise")
    words = ", ".join(clauses) + f" ({_intervals(judged, len(within))})"
    if unknown:
        words += f"; too few common seeds to say so of {_listed(unknown)}"
    return words


def _intervals(judged: Sequence[tuple[str, Difference]], num_within: int) -> str:
    one = len(judged) == 1
    seeds = _span(gap.num_seeds for _, gap in judged)
    words = f"95 % interval{'' if one else 's'} over {seeds} seeds"
    if num_within not in (0, len(judged)):
        return words
    verb = "include" if num_within else "exclude"
    return f"{words} {verb}{'s' if one else ''} 0"


def _span(values: Iterable[int]) -> str:
    found = sorted(set(values))
    return f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
