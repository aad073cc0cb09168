"""Write a table of the paper and its figures into a folder."""

from __future__ import annotations

import re
from pathlib import Path

from terrafl.reports.curves import draw_bars, draw_curves
from terrafl.reports.paper import PaperTable
from terrafl.reports.paper_text import paper_csv, paper_latex, paper_markdown
from terrafl.runs.atomic import write_atomically

__all__ = ["write_table"]


def write_table(table: PaperTable, folder: Path) -> None:
    """Write Markdown, CSV and LaTeX, and PNG and SVG of every column that was run."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"md": paper_markdown(table), "csv": paper_csv(table), "tex": paper_latex(table)}
    for ending, text in texts.items():
        write_atomically(folder / f"{table.name}.{ending}", text.encode())
    for block in table.blocks:
        if block.group is None:
            continue
        name = re.sub(r"[^a-z0-9]+", "-", block.label.lower().replace("*", "s")).strip("-")
        path = folder / f"{table.name}-{name}-{block.algorithm}"
        seconds = {line.label: line.train_s for line in block.lines if line.train_s is not None}
        pictures = (
            draw_bars(seconds, "Seconds of training") if seconds else draw_curves(block.group)
        )
        write_atomically(path.with_name(f"{path.name}.png"), pictures.png)
        write_atomically(path.with_name(f"{path.name}.svg"), pictures.svg)
