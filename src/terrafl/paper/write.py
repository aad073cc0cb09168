"""Write a table of the paper and its figures into a folder."""

from collections.abc import Sequence
from pathlib import Path

from terrafl.paper.export import paper_csv, paper_latex
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.table import PaperTable
from terrafl.reports.curves import draw_curves
from terrafl.reports.figures import draw_bars
from terrafl.runs.atomic import write_atomically


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
