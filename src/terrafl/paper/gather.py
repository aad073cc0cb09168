"""Fill a table of the paper with the results in a folder."""

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


def gather(table: Table, results: Path, preferred: str | None = None) -> PaperTable:
    """Return a table with the results in a folder.

    A column shows one profile: the preferred one if it has any result. Otherwise it is the one
    with results for more methods, and the fuller one if both have equally many.

    Parameters
    ----------
    table
        The table.
    results
        The folder.
    preferred
        The name of a profile; ``None`` for no preference.
    """
    planned = {name: plan(table, profile_named(name)) for name in SHOWN}
    blocks = [
        _block(
            table,
            {
                name: [
                    _Outcome.read(cell, results, timed=table.alone)
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
class _Outcome:
    """A planned run and its result, if there is one."""

    cell: Planned
    summary: Summary | None
    train_s: float | None

    @classmethod
    def read(cls, cell: Planned, results: Path, *, timed: bool) -> _Outcome:
        seconds = read_seconds(results, cell.place) if timed else None
        return cls(cell, read_result(results, cell.place), seconds)


def _block(
    table: Table, by_profile: Mapping[str, Sequence[_Outcome]], preferred: str | None
) -> Block:
    def weight(profile: str) -> tuple[bool, int]:
        methods = {o.cell.row.label for o in by_profile[profile] if o.summary}
        return bool(methods) and profile == preferred, len(methods)

    profile = max(SHOWN, key=weight)
    outcomes = by_profile[profile]
    labels = {o.cell.method: o.cell.row.label for o in outcomes}
    runs = [Run(o.cell.place.as_posix(), o.summary) for o in outcomes if o.summary]
    beyond = {o.cell.method for o in outcomes if o.cell.row.beyond_paper}
    group = _group(runs, labels, beyond)
    cell = outcomes[0].cell
    return Block(
        label=cell.column.label,
        scenario=cell.column.scenario,
        algorithm=cell.algorithm,
        profile=profile if group else "",
        full_rounds=configure(scenario=cell.column.scenario).rounds,
        group=group,
        lines=tuple(
            _line(table, [o for o in outcomes if o.cell.row == row], group) for row in table.rows
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
            "the results of a column must come from one experiment; these differ in more than "
            f"selector and seed: {names}. Delete the older ones and run them again."
        )
    methods = (replace(m, label=labels[m.selector, m.variant]) for m in groups[0].methods)
    return replace(groups[0], methods=tuple(methods))


def _line(table: Table, outcomes: Sequence[_Outcome], group: Group | None) -> Line:
    cell, method = outcomes[0].cell, None
    if group is not None:
        method = next((m for m in group.methods if (m.selector, m.variant) == cell.method), None)
    seconds = [o.train_s for o in outcomes if o.train_s is not None]
    return Line(
        label=cell.row.label,
        printed=table.printed.get((cell.algorithm, cell.row.label, cell.column.scenario)),
        method=method,
        train_s=fmean(seconds) if seconds else None,
        beyond_paper=cell.row.beyond_paper,
    )
