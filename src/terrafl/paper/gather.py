"""Put the results that exist into a table of the paper."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from terrafl.errors import RunFolderError
from terrafl.experiments.api import configure
from terrafl.paper.catalog import Table
from terrafl.paper.plan import Planned, plan
from terrafl.paper.profiles import SHOWN, profile_named
from terrafl.paper.results import read_result, read_seconds
from terrafl.paper.table import Block, Line, PaperTable
from terrafl.reports.collect import Run
from terrafl.reports.comparison import Group, compare
from terrafl.runs import Summary

__all__ = ["gather"]


def gather(table: Table, results: Path, preferred: str | None = None) -> PaperTable:
    """Return a table with the results that lie in a folder.

    A column shows one profile: the preferred one if any of its runs are there, else the one with
    more of its methods run, the fuller one if equal.

    Parameters
    ----------
    table
        Which.
    results
        The folder.
    preferred
        The name of a profile; ``None`` for none.
    """
    planned = {name: plan(table, profile_named(name)) for name in SHOWN}
    blocks = [
        _block(
            table,
            {
                name: [
                    _Found.of(cell, results, timed=table.alone)
                    for cell in cells
                    if cell.is_in(column, algorithm)
                ]
                for name, cells in planned.items()
            },
            preferred,
        )
        for algorithm in table.algorithms
        for column in table.columns
    ]
    return PaperTable(table.name, table.title, tuple(blocks), timed=table.alone)


@dataclass(frozen=True, slots=True)
class _Found:
    """A planned run and what there is of it."""

    cell: Planned
    summary: Summary | None
    train_s: float | None

    @classmethod
    def of(cls, cell: Planned, results: Path, *, timed: bool) -> _Found:
        seconds = read_seconds(results, cell.place) if timed else None
        return cls(cell, read_result(results, cell.place), seconds)


def _block(table: Table, found: Mapping[str, Sequence[_Found]], preferred: str | None) -> Block:
    def weight(profile: str) -> tuple[bool, int]:
        methods = {f.cell.row.label for f in found[profile] if f.summary}
        return bool(methods) and profile == preferred, len(methods)

    profile = max(SHOWN, key=weight)
    labels = {f.cell.method: f.cell.row.label for f in found[profile]}
    runs = [Run(f.cell.place.as_posix(), f.summary) for f in found[profile] if f.summary]
    beyond = {f.cell.method for f in found[profile] if f.cell.row.beyond_paper}
    group = _group(runs, labels, beyond)
    cell = found[profile][0].cell
    return Block(
        label=cell.column.label,
        scenario=cell.column.scenario,
        algorithm=cell.algorithm,
        profile=profile if group else "",
        full_rounds=configure(scenario=cell.column.scenario).rounds,
        group=group,
        lines=tuple(
            _line(table, [f for f in found[profile] if f.cell.row == row], group)
            for row in table.rows
        ),
    )


def _group(
    runs: Sequence[Run],
    labels: Mapping[tuple[str, str], str],
    beyond: Collection[tuple[str, str]],
) -> Group | None:
    if not runs:
        return None
    groups = compare(runs, outside=beyond).groups
    if len(groups) > 1:
        names = ", ".join(sorted({group.methods[0].runs[0].name for group in groups}))
        raise RunFolderError(
            f"the results of a column must come from one experiment; these differ in more than "
            f"selector and seed: {names}. Delete the older ones and run them again."
        )
    methods = (replace(m, label=labels[m.selector, m.variant]) for m in groups[0].methods)
    return replace(groups[0], methods=tuple(methods))


def _line(table: Table, found: Sequence[_Found], group: Group | None) -> Line:
    cell, method = found[0].cell, None
    if group is not None:
        method = next((m for m in group.methods if (m.selector, m.variant) == cell.method), None)
    seconds = [f.train_s for f in found if f.train_s is not None]
    place = (cell.algorithm, cell.row.label, cell.column.scenario)
    return Line(
        label=cell.row.label,
        printed=table.printed.get(place),
        method=method,
        train_s=fmean(seconds) if seconds else None,
        beyond_paper=cell.row.beyond_paper,
    )
