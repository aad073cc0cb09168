"""``terrafl data``: list, fetch and check data sets."""

import dataclasses
import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from terrafl import data
from terrafl.cli.bars import item_progress
from terrafl.cli.output_options import Json, Quiet
from terrafl.errors import DataError
from terrafl.experiments import fetching
from terrafl.models import BACKBONES

app = typer.Typer(no_args_is_help=True, help="List, fetch and check data sets.")

Root = Annotated[
    Path | None,
    typer.Option(help="Folder to use instead of $TERRAFL_DATA and the defaults."),
]
Name = Annotated[str, typer.Argument(help="A data set: see terrafl data list.")]
Fetched = Annotated[
    str, typer.Argument(help=f"A data set, or the weights of a backbone: {', '.join(BACKBONES)}.")
]


@app.command(name="list")
def list_(root: Root = None, json: Json = False) -> None:
    """List the data sets and show which are on this machine."""
    rows = data.describe(root)
    if json:
        typer.echo(jsonlib.dumps([dataclasses.asdict(row) for row in rows]))
        return
    table = Table("name", "what it is", "train", "test", "classes", "present")
    for row in rows:
        remedy = "fetch" if row.fetchable else "check"  # check says which file to put where
        present = "yes" if row.present else f"no: terrafl data {remedy} {row.name}"
        counts = (f"{n:,}" for n in (row.num_train, row.num_test, row.num_classes))
        table.add_row(row.name, row.title, *counts, present)
    Console().print(table)


@app.command()
def fetch(name: Fetched, root: Root = None, quiet: Quiet = False) -> None:
    """Download a data set or weights from the official source; resumes and verifies."""
    with item_progress("byte", quiet=quiet) as show:
        paths = fetching.fetch(name, root, show)
    for path in paths:
        typer.echo(str(path))


@app.command()
def check(name: Name, root: Root = None, quiet: Quiet = False, json: Json = False) -> None:
    """Check every file of a data set against its checksum."""
    with item_progress("file", quiet=quiet) as show:
        statuses = data.check(name, root, show)
    if json:
        rows = [dataclasses.asdict(status) for status in statuses]
        typer.echo(jsonlib.dumps(rows, default=str))
    else:
        for status in statuses:
            file = f"{status.path}: {status.note}" if status.note else status.path
            typer.echo(f"ok      {file}" if status.ok else f"problem {status.problem}")
    if not all(status.ok for status in statuses):
        raise DataError(f"every file of {name} must be present and valid; see the problems above.")
