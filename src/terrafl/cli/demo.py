"""``terrafl demo``: compare all selectors on data that is part of the installation."""

from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli import options as o
from terrafl.cli.compare import compare_cells, numbers
from terrafl.cli.output_options import Json, Quiet
from terrafl.cli.tables import show_comparison
from terrafl.experiments.api import cells
from terrafl.selection import SELECTORS


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the runs and the report.")] = Path("demo"),
    rounds: o.Rounds = None,
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    workers: o.Workers,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare the paper's six selectors on handwritten digits over 50 heterogeneous clients."""
    if not json:
        typer.echo("Six selectors, FedAvg, 1,797 handwritten digits over 50 heterogeneous clients.")
    planned = cells(
        out / "runs", list(SELECTORS), ["fedavg"], numbers(seeds), dataset="digits", rounds=rounds
    )
    compared = compare_cells(planned, workers=workers, quiet=quiet)
    page = compared.report(out)
    show_comparison(compared, as_json=json)
    if not json:
        typer.echo(f"report: {page}")
