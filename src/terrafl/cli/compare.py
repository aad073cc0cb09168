"""``terrafl compare`` and ``terrafl demo``: selectors x algorithms x seeds on one federation."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Unpack

import typer

from terrafl.cli import options as o
from terrafl.cli.progress import cell_progress, prepare
from terrafl.cli.tables import show_comparison
from terrafl.errors import ConfigurationError
from terrafl.experiments.api import cells
from terrafl.experiments.compared import Compared
from terrafl.experiments.sweep import Cell, sweep
from terrafl.selection import SELECTORS

Selectors = Annotated[
    str | None,
    typer.Option(
        help=f"Comma-separated, with settings if any: terraform(eta=2). "
        f"Default: {','.join(SELECTORS)}."
    ),
]
Algorithms = Annotated[
    str | None, typer.Option(help="Comma-separated, as for selectors. Default: fedavg.")
]


@o.with_run_options
def compare(
    *,
    selectors: Selectors = None,
    algorithms: Algorithms = None,
    seeds: Annotated[str | None, typer.Option(help="Comma-separated. Default: 0,1,2.")] = None,
    workers: o.Workers,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the runs; finished runs in it are skipped.")
    ] = None,
    track: o.Track = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
    **options: Unpack[o.RunOptions],
) -> None:
    """Train every selector with every algorithm and seed, and show a table."""
    named = options["dataset"] or options["config"]
    what = options["scenario"] or (Path(named).stem if named else "digits")
    folder = out or Path("runs") / f"compare-{what}"
    planned = cells(
        folder,
        o.methods(selectors) if selectors else None,
        o.methods(algorithms) if algorithms else None,
        numbers(seeds) if seeds else None,
        **o.to_settings(options),
    )
    compared = _run(planned, workers=workers, quiet=quiet, track=track)
    show_comparison(compared, as_json=json)
    if not json:
        typer.echo(f"runs are in {folder}; for curves: terrafl report {folder}")


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the runs and the report.")] = Path("demo"),
    rounds: o.Rounds = None,
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    workers: o.Workers,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Compare the paper's six selectors on handwritten digits over 50 heterogeneous clients."""
    if not json:
        typer.echo("Six selectors, FedAvg, 1,797 handwritten digits over 50 heterogeneous clients.")
    planned = cells(
        out / "runs", list(SELECTORS), ["fedavg"], numbers(seeds), dataset="digits", rounds=rounds
    )
    compared = _run(planned, workers=workers, quiet=quiet)
    page = compared.report(out)
    show_comparison(compared, as_json=json)
    if not json:
        typer.echo(f"report: {page}")


def _run(
    planned: Sequence[Cell], *, workers: int, quiet: bool, track: str | None = None
) -> Compared:
    """Run a comparison with a progress display."""
    prepare([cell.config for cell in planned], workers=workers, quiet=quiet)
    with cell_progress(planned, quiet=quiet) as on_round:
        sweep(planned, workers=workers, on_round=on_round, track=track)
    return Compared.read([cell.folder for cell in planned])


def numbers(text: str) -> list[int]:
    """Read a comma-separated list of seeds."""
    try:
        return [int(part) for part in o.listed(text)]
    except ValueError as error:
        raise ConfigurationError(f"seeds must be integers, such as 0,1,2; got {text!r}.") from error
