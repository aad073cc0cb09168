"""The paper's tables and figures, as TOML files that ship with the package."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from terrafl.errors import require_known


@dataclass(frozen=True, slots=True)
class Column:
    """A scenario and its label in the table."""

    scenario: str
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """A method.

    Parameters
    ----------
    label
        Its label in the table.
    selector
        The selector's name or settings.
    beyond_paper
        Whether it is ours: shown, but not part of the paper's claims.
    """

    label: str
    selector: str | Mapping[str, Any]  # Any: what TOML can hold
    beyond_paper: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table or figure of the paper.

    Parameters
    ----------
    name
        Its name on the command line.
    title
        Its title.
    columns, rows, algorithms
        Every combination is a cell.
    printed
        Percentages in the paper, by algorithm, row label and scenario.
    alone
        Whether cells run one at a time, because their time is the result.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    algorithms: tuple[str, ...]
    printed: Mapping[tuple[str, str, str], float]
    alone: bool = False


def table_names() -> list[str]:
    """Return the names of all tables and figures."""
    folder = files("terrafl.paper") / "tables"
    return sorted(item.name.removesuffix(".toml") for item in folder.iterdir())


def read_table(name: str) -> Table:
    """Return a table by its name."""
    require_known(name, table_names(), "the table must be one of")
    plain = tomllib.loads((files("terrafl.paper") / "tables" / f"{name}.toml").read_text())
    paper = plain.get("paper", {"columns": []})
    scenarios = paper.pop("columns")
    printed = {
        (algorithm, label, scenario): percent
        for algorithm, rows in paper.items()
        for label, percents in rows.items()
        for scenario, percent in zip(scenarios, percents, strict=True)
    }
    return Table(
        name=name,
        title=plain["title"],
        columns=tuple(Column(**column) for column in plain["columns"]),
        rows=tuple(Row(**row) for row in plain["rows"]),
        algorithms=tuple(plain["algorithms"]),
        printed=printed,
        alone=plain.get("alone", False),
    )
