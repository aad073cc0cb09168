"""The rows of a comparison as Markdown, CSV and LaTeX.

In Markdown and LaTeX the best of a group is bold and the second underlined, as in the paper.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from terrafl.reports.flat import Row
from terrafl.reports.formats import as_count, as_gap, as_mean_sd, in_latex
from terrafl.reports.names import algorithm_name, method_name

__all__ = ["score_cells", "to_csv", "to_latex", "to_markdown"]


def to_csv(rows: Sequence[Row]) -> str:
    """Return all columns in full precision; what is not available is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """Return one table per problem and algorithm, with accuracies in percent."""
    return "\n".join("\n".join(_markdown_group(title, group)) for title, group in _groups(rows))


def _markdown_group(title: str, rows: Sequence[Row]) -> Iterator[str]:
    budget = as_count(_number(rows[0]["equal_updates_budget"]))
    yield f"### {_markdown(title)}\n"
    yield (
        "| Method | Seeds | After the last round | Difference to the best "
        f"| At {budget} client updates | Difference to the best | Client updates |"
    )
    yield "| :-- | --: | --: | --: | --: | --: | --: |"
    for row in rows:
        last, equal = score_cells(row, "accuracy"), score_cells(row, "equal_updates_accuracy")
        yield _joined(
            _markdown(_method(row)),
            as_count(_number(row["num_seeds"])),
            _ranked(last[0], row["accuracy_rank"], "**{}**", "<u>{}</u>"),
            last[1],
            _ranked(equal[0], row["equal_updates_accuracy_rank"], "**{}**", "<u>{}</u>"),
            equal[1],
            as_count(_number(row["client_updates"])),
        )
    yield ""


def _joined(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def to_latex(rows: Sequence[Row]) -> str:
    r"""Return one ``tabular``, which needs no package.

    A row holds the method, its accuracy after the last round and at equal client updates.
    """
    lines = [r"\begin{tabular}{lrr}", r"\hline"]
    lines.append(r"Methodology & After the last round (\%) & At equal client updates (\%) \\")
    for title, group in _groups(rows):
        budget = _number(group[0]["equal_updates_budget"])
        heading = rf"{in_latex(title)}, $B = {budget}$"
        lines += [r"\hline", rf"\multicolumn{{3}}{{l}}{{\emph{{{heading}}}}} \\"]
        lines += [_latex_row(row) for row in group]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def _latex_row(row: Row) -> str:
    cells = [in_latex(_method(row))]
    for name in ("accuracy", "equal_updates_accuracy"):
        value = in_latex(score_cells(row, name)[0])
        cells.append(_ranked(value, row[f"{name}_rank"], r"\textbf{{{}}}", r"\underline{{{}}}"))
    return f"{' & '.join(cells)} \\\\"


def score_cells(row: Row, name: str) -> tuple[str, str]:
    """Return what a table shows of one score: the mean with its sd, and the gap to the best."""

    def value(column: str) -> float | None:
        return _number(row[f"{name}_{column}"])

    gap = as_gap(value("gap"), value("gap_low"), value("gap_high"))
    return as_mean_sd(value("percent"), value("sd")), gap


def _ranked(cell: str, rank: object, best: str, second: str) -> str:
    templates: dict[object, str] = {1: best, 2: second}
    return templates.get(rank, "{}").format(cell)


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for (scenario, dataset, model, profile, algorithm, _), group in groupby(rows, _group_key):
        words = [scenario or dataset, model, profile, algorithm_name(algorithm)]
        yield ", ".join(word for word in words if word), list(group)


def _group_key(row: Row) -> tuple[str, ...]:
    columns = ("scenario", "dataset", "model", "profile", "algorithm", "experiment")
    return tuple(str(row.get(column, "")) for column in columns)


def _method(row: Row) -> str:
    return method_name(str(row["selector"]), str(row["variant"]))


def _number(value: str | float | None) -> float | None:
    assert not isinstance(value, str)
    return value


def _markdown(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", escaped)
