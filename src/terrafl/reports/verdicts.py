"""A comparison in words that claim no more than the numbers."""

from collections.abc import Callable, Iterable, Sequence

from terrafl.reports.comparison import Group, Method
from terrafl.reports.estimates import Difference, Score
from terrafl.reports.formats import listed

Rival = tuple[str, Difference | None]


def verdict(group: Group) -> str:
    """Say which method leads a group, by both counts, and whether the lead is more than noise.

    A difference is within noise when the 95 % interval of its mean over common seeds contains 0.
    """
    methods = group.contenders
    rounds = _span(run.summary.rounds for method in methods for run in method.runs)
    after = f"After {rounds} round{'' if rounds == '1' else 's'}"
    first = _standing(after, group, lambda method: method.last_round)
    if len(methods) == 1:
        return first
    if _counts_agree(methods):
        return f"{first} Every run made {group.budget:,} client updates: the budget was equal too."
    at_budget = f"At equal client updates (B = {group.budget:,})"
    return f"{first} {_standing(at_budget, group, lambda method: method.equal_updates)}"


def _counts_agree(methods: Sequence[Method]) -> bool:
    totals = {run.summary.client_updates for method in methods for run in method.runs}
    same = all(m.last_round.by_seed == m.equal_updates.by_seed for m in methods)
    return len(totals) == 1 and same


def _standing(opening: str, group: Group, score: Callable[[Method], Score]) -> str:
    methods = group.contenders
    scored = [(method.name, score(method)) for method in methods if score(method).estimate]
    if not scored:
        return f"{opening} there is no evaluation to compare."
    absent = [method.name for method in methods if score(method).estimate is None]
    missing = f" {listed(absent)} had no evaluation by then." if absent else ""
    leaders = [name for name, s in scored if s.rank == 1]
    top = next(s.estimate.mean for _, s in scored if s.rank == 1 and s.estimate)
    reached = group.metric.in_words(top)
    if len(scored) == 1:
        alone = " (only one method was run)" if len(methods) == 1 else ""
        return f"{opening} {leaders[0]} reaches {reached}{alone}.{missing}"
    lead = "leads" if len(leaders) == 1 else "share the lead"
    rivals = [(name, s.to_best) for name, s in scored if s.rank != 1]
    noise = f"; {_noise(rivals, 'its' if len(leaders) == 1 else 'their')}" if rivals else ""
    return f"{opening} {listed(leaders)} {lead} with {reached}{noise}.{missing}"


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
        clauses.append(f"{whose} lead over {listed(behind)} is beyond noise")
    if within:
        plural = "the differences" if len(within) > 1 else "the difference"
        verb = "are" if len(within) > 1 else "is"
        clauses.append(f"{plural} to {listed(within)} {verb} within noise")
    if ahead:
        clauses.append(f"on the seeds they share {listed(ahead)} did better, beyond noise")
    words = ", ".join(clauses) + f" ({_intervals(judged, len(within))})"
    if unknown:
        words += f"; there are too few common seeds for {listed(unknown)}"
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
    ends = sorted(set(values))
    return f"{ends[0]}" if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
