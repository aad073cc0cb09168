"""``terrafl bench``: engine and selector speed, compared with a plain loop and with argsort."""

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from terrafl.bench.engine import measure_engine
from terrafl.bench.selection import measure_selection
from terrafl.bench.workloads import WORKLOADS
from terrafl.cli import options as o
from terrafl.errors import require_known

app = typer.Typer(no_args_is_help=True, help="Measure speed. All variants are measured in one run.")


@app.command()
def engine(
    *,
    workload: Annotated[str, typer.Option(help="cnn, mlp or all.")] = "all",
    repetitions: Annotated[int, typer.Option(min=1, help="Number of rounds for each variant.")] = 5,
    workers: o.Workers,
    json: o.Json = False,
) -> None:
    """Compare a full round of the engine with PyTorch loops without federation."""
    require_known(workload, (*WORKLOADS, "all"), "workload must be one of")
    names = list(WORKLOADS) if workload == "all" else [workload]
    measured = measure_engine(
        names,
        workers=workers,
        repetitions=repetitions,
        say=lambda text: typer.echo(text, err=True),
    )
    if json:
        typer.echo(jsonlib.dumps({"workloads": [asdict(m) for m in measured]}, indent=1))
        return
    table = Table("", *names)
    for title, value in (
        ("stock loop, samples/s", "{0.stock_samples_per_s:,.0f}"),
        ("plain loop, samples/s", "{0.plain_samples_per_s:,.0f} ({0.plain_loop})"),
        ("engine, samples/s", "{0.engine_samples_per_s:,.0f}"),
        ("engine / stock", "{0.ratio_stock:.2f}"),
        ("engine / plain", "{0.ratio:.2f} ({0.ratio_spread[0]:.2f} to {0.ratio_spread[1]:.2f})"),
        ("evaluation / forward pass", "{0.eval_ratio:.2f}"),
        ("peak memory (PSS), MB", "{0.peak_pss_mb:,.0f}"),
    ):
        table.add_row(title, *(value.format(m) for m in measured))
    momentum = [m.momentum_ratio_stock for m in measured]
    table.add_row("engine / stock, momentum 0.9", *(f"{r:.2f}" if r else "" for r in momentum))
    Console().print(table)
    typer.echo(f"{measured[0].workers} workers, {repetitions} repetitions, {measured[0].data}")


@app.command()
def selection(json: o.Json = False) -> None:
    """Time draws and splits for 1,000 to 1,000,000 clients, compared with numpy's argsort."""
    rows = measure_selection()
    if json:
        typer.echo(jsonlib.dumps({"rows": rows}, indent=1))
        return
    table = Table("what", "clients", "ms", "ratio to argsort", "bytes a client")
    for row in rows:
        seconds, ratio = row["seconds"], row.get("ratio")
        held = [row.get(f"{what}_bytes_per_client") for what in ("population", "state")]
        table.add_row(
            str(row["what"]),
            f"{row['clients']:,}",
            "refuses" if seconds is None else f"{float(seconds) * 1000:,.3f}",
            "" if ratio is None else f"{ratio:.2f}",
            "" if held[0] is None else f"{sum(float(h or 0) for h in held):.0f}",
        )
    Console().print(table)
