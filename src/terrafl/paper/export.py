"""A table of the paper as files: CSV, LaTeX, Markdown and its figures."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from terrafl.paper.cells import GAINS, details, gains, overview
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.table import Block, Line, PaperTable
from terrafl.reports.curves import draw_curves
from terrafl.reports.figures import draw_bars
from terrafl.reports.names import algorithm_name
from terrafl.reports.tables import LATEX, score_columns, to_csv
from terrafl.runs.atomic import write_atomically

_SHORT = 8
"""Columns of the full table that fit on a page: up to the client updates."""


def paper_csv(table: PaperTable) -> str:
    """Return one line per cell with all of its values, in full precision."""
    return to_csv([_csv_row(block, line) for block in table.blocks for line in block.lines])


def _csv_row(block: Block, line: Line) -> dict[str, object]:
    gains = [gain[1] if gain and gain[0] == line.label else None for gain in block.gains]
    row: dict[str, object] = {
        "column": block.label,
        "scenario": block.scenario,
        "algorithm": block.algorithm,
        "method": line.label,
        "beyond_paper": line.beyond_paper,
        "paper_percent": line.printed,
        "paper_gain_over_second_percent": gains[0],
        "profile": block.profile,
    }
    if line.method is None or block.group is None or line.ours is None:
        return row
    row["difference_to_paper"] = None if line.printed is None else line.ours - line.printed
    row["gain_over_second_percent"] = gains[1]
    row |= score_columns("accuracy", line.method.last_round)
    row |= score_columns("equal_updates_accuracy", line.method.equal_updates)
    row |= {"seeds": " ".join(map(str, line.method.seeds)), "model": block.group.problem.model}
    row |= {
        "equal_updates_budget": block.group.budget,
        "equal_samples_budget": block.group.sample_budget,
        "equal_samples_accuracy_percent": line.method.equal_samples_percent,
        **asdict(line.method.costs),
    }
    return row | {"train_s": line.train_s}


def paper_latex(table: PaperTable) -> str:
    """Return one ``tabular`` of all columns, then one per column; they need no package."""
    lines = list(_latex_overview(table))
    for block in table.blocks:
        if block.is_compared:
            lines += ["", *_latex_details(block, timed=table.timed)]
    return "\n".join([*lines, ""])


def _latex_overview(table: PaperTable) -> Iterator[str]:
    groups = table.by_algorithm
    first = next(iter(groups.values()))
    yield rf"\begin{{tabular}}{{ll{'c' * len(first)}}}"
    for algorithm, blocks in groups.items():
        yield r"\hline"
        yield _latex_row(["", "Methodology", *(LATEX.text(block.heading) for block in blocks)])
        for label, cells in overview(blocks, LATEX, timed=table.timed):
            yield _latex_row([algorithm_name(algorithm), label, *cells])
        if not table.timed:
            yield _latex_row(["", GAINS, *(LATEX.text(gains(block)) for block in blocks)])
    yield r"\hline"
    yield r"\end{tabular}"


def _latex_details(block: Block, *, timed: bool) -> Iterator[str]:
    heads, rows = details(block, LATEX)
    shown = [*range(_SHORT), *([len(heads) - 1] if timed else [])]
    yield rf"\begin{{tabular}}{{l{'r' * (len(shown) - 1)}}}"
    title = LATEX.text(f"{block.name} [{block.profile}]")
    yield rf"\multicolumn{{{len(shown)}}}{{l}}{{\emph{{{title}}}}} \\"
    yield r"\hline"
    yield _latex_row([heads[i] for i in shown])
    yield r"\hline"
    for row in rows:
        yield _latex_row([row[i] for i in shown])
    yield r"\hline"
    yield r"\end{tabular}"


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def write_table(table: PaperTable, folder: Path) -> None:
    """Write Markdown, CSV and LaTeX, and PNG and SVG figures."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "md": paper_markdown(table, figures=""),
        "csv": paper_csv(table),
        "tex": paper_latex(table),
    }
    for ending, text in texts.items():
        write_atomically(folder / f"{table.name}.{ending}", text.encode())
    write_figures(table, folder, ("png", "svg"))


def write_figures(table: PaperTable, folder: Path, kinds: Sequence[str]) -> None:
    """Draw every column with results of more than one method, in these formats."""
    for block in table.blocks:
        if block.group is None or not block.is_compared:
            continue
        seconds = {line.label: line.train_s for line in block.lines if line.train_s is not None}
        pictures = (
            draw_bars(seconds, "Seconds of training") if seconds else draw_curves(block.group)
        )
        for kind in kinds:
            path = folder / f"{table.figure_name(block)}.{kind}"
            write_atomically(path, getattr(pictures, kind))
