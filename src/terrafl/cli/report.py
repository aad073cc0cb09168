"""``terrafl report``: write a report from run folders."""

from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli.bars import item_progress
from terrafl.cli.output_options import Json, Quiet
from terrafl.cli.tables import show_comparison
from terrafl.experiments.compared import Compared


def report(
    folders: Annotated[list[Path], typer.Argument(help="Run folders, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("report"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write report.html, tables and figures from finished runs."""
    compared = Compared.read(folders)
    for name, reason in compared.comparison.unreadable:
        typer.echo(f"left out: {name}: {reason}", err=True)
    with item_progress("problem", quiet=quiet) as show:
        page = compared.report(out, on_section=lambda done, total: show("report", done, total))
    show_comparison(compared, as_json=json)
    if not json:
        typer.echo(f"report: {page}")
