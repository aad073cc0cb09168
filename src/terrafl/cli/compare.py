"""``terrafl compare``: selectors x algorithms x seeds on the same federation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

import typer

from terrafl.cli import options as o
from terrafl.cli.output_options import Json, Quiet
from terrafl.cli.prepare import prepare
from terrafl.cli.progress import cell_progress
from terrafl.cli.tables import show_comparison
from terrafl.errors import ConfigurationError
from terrafl.experiments.api import Settings, cells, default_workers
from terrafl.experiments.compared import Compared
from terrafl.experiments.sweep import Cell, sweep
from terrafl.experiments.tracking import Tracking
from terrafl.selection import SELECTORS

Selectors = Annotated[
    str | None, typer.Option(help=f"Comma-separated. Default: {','.join(SELECTORS)}.")
]
Algorithms = Annotated[str | None, typer.Option(help="Comma-separated. Default: fedavg.")]
Seeds = Annotated[str | None, typer.Option(help="Comma-separated. Default: 0,1,2.")]


@o.with_run_options
def compare(
    *,
    selectors: Selectors = None,
    algorithms: Algorithms = None,
    seeds: Seeds = None,
    workers: o.Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the runs; finished runs in it are skipped.")
    ] = None,
    track: o.Track = None,
    quiet: Quiet = False,
    json: Json = False,
    **options: Unpack[o.RunOptions],
) -> None:
    """Train every selector with every algorithm and seed, and show a table."""
    named = options["dataset"] or options["config"]
    what = options["scenario"] or (Path(named).stem if named else "digits")
    folder = out or Path("runs") / f"compare-{what}"
    compared = compare_into(
        folder,
        o.listed(selectors) if selectors else None,
        o.listed(algorithms) if algorithms else None,
        numbers(seeds) if seeds else None,
        workers=workers,
        quiet=quiet,
        track=track,
        settings=o.to_settings(options),
    )
    show_comparison(compared, as_json=json)
    if not json:
        typer.echo(f"runs are in {folder}; for curves: terrafl report {folder}")


def compare_into(
    folder: Path,
    selectors: list[str] | None,
    algorithms: list[str] | None,
    seeds: list[int] | None,
    *,
    workers: int | None,
    quiet: bool,
    settings: Settings,
    track: str | None = None,
) -> Compared:
    """Run a comparison with a progress display."""
    planned = cells(folder, selectors, algorithms, seeds, **settings)
    processes = workers or default_workers()
    prepare([cell.config for cell in planned], workers=processes, quiet=quiet)
    with Tracking(track) as tracking, cell_progress(planned, quiet=quiet) as on_round:

        def hear(cell: Cell, done: int, planned_rounds: int, accuracy: float | None) -> None:
            on_round(cell, done, planned_rounds, accuracy)
            tracking.update(cell.folder, done)

        sweep(planned, workers=processes, on_round=hear)
    return Compared.read([cell.folder for cell in planned])


def numbers(text: str) -> list[int]:
    """Read a comma-separated list of seeds."""
    try:
        return [int(part) for part in o.listed(text)]
    except ValueError as error:
        raise ConfigurationError(f"seeds must be integers, such as 0,1,2; got {text!r}.") from error
