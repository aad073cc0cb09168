"""``terrafl reproduce``: the paper's tables and figures, with its numbers and ours."""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from terrafl.cli import options as o
from terrafl.cli.progress import cell_progress
from terrafl.cli.progress import prepare as prepare_data
from terrafl.errors import ConfigurationError
from terrafl.experiments.config import RunConfig
from terrafl.paper.catalog import read_table, table_names
from terrafl.paper.export import write_table
from terrafl.paper.gather import gather
from terrafl.paper.markdown import paper_markdown
from terrafl.paper.perform import perform, prepare
from terrafl.paper.plan import PROFILES, SHOWN, Planned, chosen, plan, profile_named

_SPENT = "the time budget is used up; run the same command again to resume"

Only = Annotated[
    list[str] | None,
    typer.Option(help="Which runs, as in --only cifar100 --only fedavg; repeatable."),
]
Results = Annotated[Path, typer.Option(help="Folder of the summaries, written and read.")]


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="TABLE", help=f"One of {', '.join(table_names())}.")
    ],
    *,
    profile: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(PROFILES)}. Default: laptop.")
    ] = None,
    only: Only = None,
    budget: Annotated[
        str | None, typer.Option(help="Stop cleanly after this time, such as 90m or 2h.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Run nothing; show the existing results.")
    ] = False,
    runs: Annotated[Path, typer.Option(help="Folder of the run folders.")] = Path("runs/paper"),
    results: Results = Path("results/paper"),
    out: Annotated[
        Path | None, typer.Option(help="Write the table and its figures into this folder.")
    ] = None,
    workers: o.Workers,
    quiet: o.Quiet = False,
) -> None:
    """Run a table of the paper and show the paper's numbers and ours."""
    table, deadline = read_table(name), time.monotonic() + _seconds(budget)
    wanted = profile_named(profile or "laptop")
    planned = chosen(plan(table, wanted), only or [])
    if not show:
        at_once = 1 if table.alone else workers
        _run(planned, runs, results, deadline, workers=workers, at_once=at_once, quiet=quiet)
    if wanted.name not in SHOWN:
        typer.echo(f"{wanted.name} runs are a test; no table shows them", err=True)
        return
    if not results.is_dir():
        typer.echo(f"there are no results in {results}: give their folder with --results", err=True)
    gathered = gather(table, results, preferred=profile if show else wanted.name)
    if show and only:
        asked = {(cell.column.scenario, cell.algorithm) for cell in planned}
        blocks = [b for b in gathered.blocks if (b.scenario, b.algorithm) in asked]
        gathered = replace(gathered, blocks=tuple(blocks))
    typer.echo(paper_markdown(gathered), nl=False)
    if out is not None:
        write_table(gathered, out)
        typer.echo(f"\nwritten to {out}")


def _run(
    planned: Sequence[Planned],
    runs: Path,
    results: Path,
    deadline: float,
    *,
    workers: int,
    at_once: int,
    quiet: bool,
) -> None:
    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    def warm_up(config: RunConfig) -> None:
        say(f"{config.scenario}: measuring one round of each method")
        prepare_data([config], workers=workers, quiet=quiet)

    prepared = prepare(planned, runs, warm_up=warm_up, deadline=deadline)
    if time.monotonic() > deadline:
        say(f"{_SPENT}; no run was started")
        return
    for reason in prepared.missing.values():
        say(f"{reason} Its column is left out.")
    say(_outlook(len(planned), len(prepared.waiting), prepared.expected_s, at_once))
    # Finished ones are included: their results may not have been kept yet.
    available = [cell for cell in planned if cell.column.scenario not in prepared.missing]
    with cell_progress([cell.under(runs) for cell in available], quiet=quiet) as on_round:
        done = perform(
            available, runs, results, workers=at_once, deadline=deadline, on_round=on_round
        )
    if not done:
        say(_SPENT)


def _outlook(planned: int, waiting: int, expected_s: float, at_once: int) -> str:
    runs = f"{planned} run{'s' * (planned != 1)} planned, {waiting} unfinished"
    if not waiting:
        return runs
    minutes = expected_s / min(at_once, waiting) / 60
    return f"{runs}: about {minutes:,.0f} minutes, {at_once} at a time"


def _seconds(budget: str | None) -> float:
    if budget is None:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", budget.strip())
    if match is None:
        raise ConfigurationError(
            f"--budget must be a number with s, m or h, such as 90m; got {budget!r}."
        )
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
