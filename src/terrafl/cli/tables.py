"""Print comparison tables in the terminal."""

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from terrafl.experiments.compared import Compared
from terrafl.reports import Group, verdict
from terrafl.reports.estimates import Score
from terrafl.reports.formats import Metric, as_count


def show_comparison(compared: Compared, *, as_json: bool) -> None:
    """Print one table per problem and algorithm, with its verdict."""
    if as_json:
        typer.echo(json.dumps(compared.rows, indent=1))
        return
    console = Console()
    for group in compared.comparison.groups:
        console.print(_table(group))
        console.print(Text(verdict(group)))


def _table(group: Group) -> Table:
    seeds = {len(method.seeds) for method in group.methods}
    counts = " or ".join(str(count) for count in sorted(seeds))
    over = ", one seed" if seeds == {1} else f", mean ± sd over {counts} seeds"
    metric = group.metric
    score = f"{metric.name} in %" if metric.is_percent else metric.name
    table = Table(
        title=f"{group.title}: test {score}{over}",
        title_justify="left",
    )
    table.add_column("selector", no_wrap=True)
    table.add_column("last round", justify="right", no_wrap=True)
    table.add_column(f"at {group.budget:,} updates", justify="right", no_wrap=True)
    for header in ("updates", "samples", "queries"):
        table.add_column(header, justify="right", no_wrap=True)
    for method in group.methods:
        table.add_row(
            Text(method.name),
            _score(method.last_round, metric),
            _score(method.equal_updates, metric),
            as_count(method.costs.client_updates),
            as_count(method.costs.samples_trained),
            as_count(method.costs.loss_queries),
        )
    return table


def _score(score: Score, metric: Metric) -> Text:
    return Text(metric.mean(score.estimate), style="bold" if score.rank == 1 else "")
