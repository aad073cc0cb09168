"""``terrafl reproduce``: the paper's tables and figures, with our numbers beside its own."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli import options as o
from terrafl.cli.progress import cell_progress, image_progress, item_progress
from terrafl.errors import ConfigurationError
from terrafl.experiments.api import default_workers
from terrafl.experiments.reproduce.catalogue import Table, read_table, table_names
from terrafl.experiments.reproduce.gather import gather
from terrafl.experiments.reproduce.perform import Prepared, perform, prepare
from terrafl.experiments.reproduce.plan import chosen, plan
from terrafl.experiments.reproduce.profiles import PROFILES, SHOWN, profile_named
from terrafl.experiments.reproduce.write import write_table
from terrafl.reports.paper_text import paper_markdown

__all__ = ["reproduce"]

Only = Annotated[
    list[str] | None,
    typer.Option(help="Runs to make, as in --only cifar100 --only fedavg; repeatable."),
]
Results = Annotated[Path, typer.Option(help="Where summaries are kept, and read from.")]


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="TABLE", help=f"One of {', '.join(table_names())}.")
    ],
    *,
    profile: Annotated[str, typer.Option(help=f"One of {', '.join(PROFILES)}.")] = "laptop",
    only: Only = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop cleanly after, for example, 90m or 2h.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Run nothing: show what there is.")] = False,
    runs: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs/paper"),
    results: Results = Path("results/paper"),
    out: Annotated[
        Path | None, typer.Option(help="Write the table and its figures into this folder.")
    ] = None,
    workers: o.Workers = None,
    quiet: o.Quiet = False,
) -> None:
    """Run a table of the paper, and show the paper's numbers and ours."""
    table, deadline = read_table(name), time.monotonic() + _seconds(budget)
    if not show:
        _run(
            table,
            profile,
            only or [],
            runs=runs,
            results=results,
            deadline=deadline,
            workers=workers or default_workers(),
            quiet=quiet,
        )
    if show or profile in SHOWN:
        gathered = gather(table, results)
        typer.echo(paper_markdown(gathered), nl=False)
        if out is not None:
            write_table(gathered, out)
            typer.echo(f"\nwritten to {out}")


def _run(
    table: Table,
    profile: str,
    only: list[str],
    *,
    runs: Path,
    results: Path,
    deadline: float,
    workers: int,
    quiet: bool,
) -> None:
    planned = chosen(plan(table, profile_named(profile)), only)
    at_once = 1 if table.alone else workers

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    with (
        item_progress("example", quiet=quiet) as on_data,
        image_progress(quiet=quiet) as on_images,
    ):
        prepared = prepare(
            planned,
            runs,
            workers=workers,
            on_scenario=lambda scenario: say(f"{scenario}: one round, to know how long it takes"),
            on_data=on_data,
            on_images=on_images,
            deadline=deadline,
        )
    for line in _outlook(prepared, len(planned), at_once):
        say(line)
    # Finished ones go along: their results may not have been kept yet.
    going = [cell for cell in planned if cell.column.scenario not in prepared.missing]
    with cell_progress([cell.under(runs) for cell in going], quiet=quiet) as on_round:
        done = perform(
            going,
            runs=runs,
            results=results,
            workers=at_once,
            deadline=deadline,
            on_round=on_round,
        )
    if not done:
        say("the budget is spent; the same command goes on from here")


def _outlook(prepared: Prepared, num_planned: int, at_once: int) -> list[str]:
    lines = [f"{reason} Its column is left out." for reason in prepared.missing.values()]
    waiting = len(prepared.waiting)
    minutes = prepared.expected_s / min(at_once, max(waiting, 1)) / 60
    lines.append(
        f"{num_planned} run{'s' * (num_planned != 1)} planned, {waiting} to be made"
        + (f": about {minutes:,.0f} minutes, {at_once} at a time" if waiting else "")
    )
    return lines


def _seconds(budget: str | None) -> float:
    if budget is None:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", budget.strip())
    if match is None:
        raise ConfigurationError(
            f"--budget must be a number with s, m or h, such as 90m; got {budget!r}."
        )
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
