"""``terrafl run`` and ``terrafl resume``."""

from pathlib import Path
from typing import Annotated, Unpack

import typer

from terrafl.cli import options as o
from terrafl.cli.progress import prepare, run_progress
from terrafl.experiments import run as runs
from terrafl.experiments.api import configure
from terrafl.experiments.result import Result
from terrafl.experiments.tracking import Tracking
from terrafl.reports.formats import metric_named
from terrafl.runs import RunFolder


@o.with_run_options
def run(
    *,
    selector: o.SelectorName = None,
    algorithm: o.Algorithm = None,
    seed: Annotated[int | None, typer.Option(help="One seed controls all randomness.")] = None,
    workers: o.Workers,
    out: Annotated[Path | None, typer.Option(help="The run folder to create.")] = None,
    trust: o.Trust = False,
    track: o.Track = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
    **options: Unpack[o.RunOptions],
) -> None:
    """Train one federation with one selector."""
    settings = o.to_settings(options) | {"trust": trust}
    resolved = configure(selector=selector, algorithm=algorithm, seed=seed, **settings)
    name = f"{resolved.scenario or Path(resolved.dataset).stem}-{resolved.run_name}"
    prepare([resolved], workers=workers, quiet=quiet)
    folder = out or Path("runs") / name
    metric = resolved.task.metric
    with Tracking(track) as tracking, run_progress(name, metric, quiet=quiet) as on_round:
        result = runs.execute(
            resolved,
            folder,
            workers=workers,
            on_round=tracking.following(folder, on_round),
        )
    _show(result, json)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of an interrupted run.")],
    *,
    workers: o.Workers,
    allow_drift: Annotated[
        bool,
        typer.Option(
            "--allow-drift", help="Resume under other settings or versions; the journal says so."
        ),
    ] = False,
    trust: o.Trust = False,
    track: o.Track = None,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Finish an interrupted run. The result is the same as without the interruption."""
    started = RunFolder(folder)
    metric = runs.read_config(started, trust=trust).task.metric if started.is_started else ""
    with Tracking(track) as tracking, run_progress(folder.name, metric, quiet=quiet) as on_round:
        result = runs.resume(
            folder,
            workers=workers,
            on_round=tracking.following(folder, on_round),
            allow_drift=allow_drift,
            trust=trust,
        )
        tracking.update(folder, result.summary.rounds)  # a finished run calls on_round no more
    _show(result, json)


def _show(result: Result, as_json: bool) -> None:
    summary = result.summary
    if as_json:
        typer.echo(summary.to_json().decode(), nl=False)
        return
    score = metric_named(summary.metric).in_short(summary.accuracy, decimals=2)
    averaged = " (moving average)" * ("average=" in summary.algorithm_variant)
    typer.echo(
        f"{summary.selector} with {summary.algorithm} on {summary.scenario or summary.dataset}: "
        f"{score}{averaged} after {summary.rounds} round{'s' * (summary.rounds != 1)} "
        f"and {summary.client_updates} client updates (seed {summary.seed})"
    )
    if summary.reports_refused:
        typer.echo(f"{summary.reports_refused} reports were refused: see {result.folder.journal}")
    typer.echo(f"written to {result.folder.path}")
