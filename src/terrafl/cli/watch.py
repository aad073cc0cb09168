"""``terrafl watch``: the report as a live page."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from terrafl.reports.live.server import serve


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
