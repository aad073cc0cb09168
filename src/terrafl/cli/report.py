"""``terrafl report``: write a report from run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli import options as o
from terrafl.cli.progress import item_progress
from terrafl.cli.tables import show_comparison
from terrafl.experiments.compared import Compared

__all__ = ["report"]


def report(
    folders: Annotated[list[Path], typer.Argument(help="Run folders, or parents of them.")],
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Write report.html, tables and figures from finished runs."""
    compared = Compared.read(folders)
    with item_progress("problem", quiet=quiet) as show:
        page = compared.report(out, on_section=lambda done, total: show("report", done, total))
    show_comparison(compared, as_json=json)
    if not json:
        typer.echo(f"report: {page}")
