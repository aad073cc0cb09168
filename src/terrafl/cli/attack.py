"""``terrafl attack``: attack a federation, with and without the guard."""

from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli import options as o
from terrafl.cli.compare import numbers
from terrafl.cli.progress import cell_progress
from terrafl.defences import KINDS
from terrafl.experiments.attacked.plan import METHODS, Attacked, chosen_kinds, chosen_methods, plan
from terrafl.experiments.attacked.results import attack_markdown, attack_rows, keep, read_kept
from terrafl.experiments.sweep import sweep
from terrafl.reports.tables import to_csv
from terrafl.runs import RunFolder
from terrafl.runs.atomic import write_atomically

Methods = Annotated[
    str | None,
    typer.Option(help=f"Comma-separated, from {', '.join(METHODS)}. Default: the first three."),
]
Attacks = Annotated[
    str | None,
    typer.Option(help=f"Comma-separated, from {', '.join(KINDS)}. Default: all."),
]


def attack(
    config: o.ConfigFile = None,
    *,
    scenario: o.Scenario = None,
    methods: Methods = None,
    attacks: Attacks = None,
    fraction: Annotated[float, typer.Option(help="Part of the clients that attacks.")] = 0.1,
    seeds: Annotated[str, typer.Option(help="Comma-separated.")] = "0",
    model: o.ModelName = None,
    rounds: Annotated[int, typer.Option(help="Rounds, R.")] = 40,
    settings: o.Set = None,
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; show the existing results.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of the runs.")] = Path("runs/attack"),
    results: Annotated[Path, typer.Option(help="Folder of the results and the table.")] = Path(
        "results/attack"
    ),
    workers: o.Workers,
    quiet: o.Quiet = False,
) -> None:
    """Attack a federation in every way, and show how much accuracy it loses.

    The default scenario is fmnist-4. Finished runs are skipped.
    """
    wanted = chosen_methods(o.listed(methods) if methods else None)
    kinds = chosen_kinds(o.listed(attacks) if attacks else None)
    if not show:
        planned = plan(
            out,
            wanted,
            kinds,
            fraction=fraction,
            seeds=numbers(seeds),
            config=config,
            scenario=scenario or (None if config else "fmnist-4"),
            model=model,
            rounds=rounds,
            settings=o.overrides(settings),
        )
        _run(planned, results, workers, quiet)
    rows = attack_rows(read_kept(results), wanted, kinds)
    typer.echo(attack_markdown(rows), nl=False)
    if results.is_dir():
        write_atomically(results / "table.md", attack_markdown(rows).encode())
        write_atomically(results / "table.csv", to_csv(rows).encode())


def _run(planned: list[Attacked], results: Path, workers: int, quiet: bool) -> None:
    cells = [run.cell for run in planned]
    try:
        with cell_progress(cells, quiet=quiet) as on_round:
            sweep(cells, workers=workers, on_round=on_round)
    finally:  # keep the finished runs even if an error stopped the others
        for run in planned:
            if RunFolder(run.cell.folder).is_complete:
                keep(run, results)
