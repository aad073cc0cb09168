"""A comparison as flat rows of plain values, and as Markdown, CSV and LaTeX.

In Markdown and LaTeX the best of a group is bold and the second underlined, as in the paper.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from terrafl.reports.comparison import Comparison, Group, Method
from terrafl.reports.estimates import Score
from terrafl.reports.formats import as_count, in_latex
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


def to_markdown(comparison: Comparison) -> str:
    """Return one table per problem and algorithm."""
    return "\n".join("\n".join(_markdown_group(group)) for group in comparison.groups)


def _markdown_group(group: Group) -> Iterator[str]:
    yield f"### {_in_markdown(_title(group))}\n"
    yield (
        "| Method | Seeds | After the last round | Difference to the best "
        f"| At {as_count(group.budget)} client updates | Difference to the best | Client updates |"
    )
    yield "| :-- | --: | --: | --: | --: | --: | --: |"
    for method in group.methods:
        cells = [_in_markdown(method.name), as_count(len(method.seeds))]
        for score in (method.last_round, method.equal_updates):
            mean, gap = group.metric.mean(score.estimate), group.metric.gap(score.to_best)
            cells += [MARKDOWN.mark(mean, score.rank), gap]
        yield f"| {' | '.join([*cells, as_count(method.costs.client_updates)])} |"
    yield ""


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
    words = [
        problem.name,
        problem.model,
        problem.profile,
        algorithm_name(group.algorithm, group.algorithm_variant),
    ]
    score = "" if group.metric.is_percent else group.metric.name
    return ", ".join(filter(None, [*words, score]))
