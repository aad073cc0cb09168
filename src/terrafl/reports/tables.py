"""A comparison as flat rows of plain values, as Markdown, CSV and LaTeX, and in words.

In Markdown and LaTeX the best of a group is bold and the second underlined, as in the paper. The
words claim no more than the numbers.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from terrafl.reports.comparison import Comparison, Group, Method
from terrafl.reports.estimates import Difference, Score
from terrafl.reports.formats import as_count, in_latex, listed
from terrafl.reports.names import algorithm_name

Row = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Style:
    """How a format escapes text and marks the best and the second."""

    best: str
    second: str
    text: Callable[[str], str]

    def mark(self, text: str, rank: int | None) -> str:
        """Return the escaped text, marked if its rank is 1 or 2."""
        template = {1: self.best, 2: self.second}.get(rank or 0, "{}")
        return template.format(self.text(text))


def _in_markdown(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", escaped)


MARKDOWN = Style("**{}**", "<u>{}</u>", _in_markdown)
LATEX = Style(r"\textbf{{{}}}", r"\underline{{{}}}", in_latex)


def rows(comparison: Comparison) -> list[Row]:
    """Return one flat row per problem, algorithm and method, as for a data frame or CSV.

    Columns that end in ``percent`` hold percent; ``sd`` and ``gap`` are percentage points. A gap
    is the method minus the best, with the ends of its 95 % interval; ``None`` for the best. The
    column ``metric`` names the score that is called accuracy: an R² of 0.45 is 45 percent.
    """
    return [_row(group, method) for group in comparison.groups for method in group.methods]


def _row(group: Group, method: Method) -> Row:
    return {
        **asdict(group.problem),
        "algorithm": group.algorithm,
        "algorithm_variant": group.algorithm_variant,
        "selector": method.selector,
        "variant": method.variant,
        "num_seeds": len(method.seeds),
        "seeds": " ".join(map(str, method.seeds)),
        **score_columns("accuracy", method.last_round),
        "equal_updates_budget": group.budget,
        **score_columns("equal_updates_accuracy", method.equal_updates),
        **asdict(method.costs),
    }


def score_columns(name: str, score: Score) -> Row:
    """Return the columns of one score; their names start with the given one."""
    gap = score.to_best
    return {
        f"{name}_percent": score.percent,
        f"{name}_sd": score.estimate.sd if score.estimate else None,
        f"{name}_rank": score.rank,
        f"{name}_gap": gap.mean if gap else None,
        f"{name}_gap_low": gap.low if gap else None,
        f"{name}_gap_high": gap.high if gap else None,
        f"{name}_within_noise": gap.within_noise if gap else None,
    }


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Return all columns in full precision; what is not available is an empty cell."""
    text = io.StringIO()
    columns = max(rows, key=len, default={})
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def markdown_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1
) -> list[str]:
    """Return the lines of a table whose first columns are aligned left, the others right."""
    rule = [":--"] * left + ["--:"] * (len(heads) - left)
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def to_markdown(comparison: Comparison) -> str:
    """Return one table per problem and algorithm."""
    return "\n".join("\n".join(_markdown_group(group)) for group in comparison.groups)


def _markdown_group(group: Group) -> list[str]:
    heads = ["Method", "Seeds"]
    for when in ("After the last round", f"At {as_count(group.budget)} client updates"):
        heads += [when, "Difference to the best"]
    rows = []
    for method in group.methods:
        cells = [_in_markdown(method.name), as_count(len(method.seeds))]
        for score in (method.last_round, method.equal_updates):
            mean, gap = group.metric.mean(score.estimate), group.metric.gap(score.to_best)
            cells += [MARKDOWN.mark(mean, score.rank), gap]
        rows.append([*cells, as_count(method.costs.client_updates)])
    table = markdown_table([*heads, "Client updates"], rows)
    return [f"### {_in_markdown(_title(group))}\n", *table, ""]


def to_latex(comparison: Comparison) -> str:
    r"""Return one ``tabular``, which needs no package.

    A row holds the method, its score after the last round and at equal client updates.
    """
    lines = [r"\begin{tabular}{lrr}", r"\hline"]
    units = dict.fromkeys(group.metric.unit for group in comparison.groups)
    unit = in_latex(" or ".join(units))
    lines.append(
        rf"Methodology & After the last round ({unit}) & At equal client updates ({unit}) \\"
    )
    for group in comparison.groups:
        heading = rf"{in_latex(_title(group))}, $B = {group.budget}$"
        lines += [r"\hline", rf"\multicolumn{{3}}{{l}}{{\emph{{{heading}}}}} \\"]
        for method in group.methods:
            scores = (method.last_round, method.equal_updates)
            cells = [LATEX.mark(group.metric.mean(score.estimate), score.rank) for score in scores]
            lines.append(f"{' & '.join([in_latex(method.name), *cells])} \\\\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _title(group: Group) -> str:
    problem = group.problem
    algorithm = algorithm_name(group.algorithm, group.algorithm_variant)
    score = "" if group.metric.is_percent else group.metric.name
    words = [problem.name, problem.model, problem.profile, algorithm, score]
    return ", ".join(filter(None, words))


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
        seeds = "one seed" if one else "no two common seeds"
        return f"{seeds}: no statement about noise can be made"
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
