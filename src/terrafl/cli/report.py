"""``terrafl report`` and ``terrafl watch``: run folders as a report, and as a live page."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli.bars import item_progress
from terrafl.cli.output_options import Json, Quiet
from terrafl.cli.tables import show_comparison
from terrafl.experiments.compared import Compared
from terrafl.reports.live.server import serve


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


def watch(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders, or folders in which runs are or will be.")
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 picks a free port.")
    ] = 0,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show runs in the browser while they train. Ctrl-C stops the page; the runs continue."""

    def ready(address: str) -> None:
        typer.echo(f"watching: {address}")
        if open_page:
            webbrowser.open(address)

    try:
        serve(folders, port=port, on_ready=ready)
    except KeyboardInterrupt:
        typer.echo("stopped watching; the runs continue.", err=True)
