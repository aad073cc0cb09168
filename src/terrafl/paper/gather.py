"""Fill a table of the paper with the results in a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path, PurePosixPath
from statistics import fmean

from terrafl.errors import RunFolderError
from terrafl.experiments.api import configure
from terrafl.paper.catalog import Table
from terrafl.paper.perform import read_result, read_seconds
from terrafl.paper.plan import SHOWN, Planned, plan, profile_named
from terrafl.paper.table import Block, Line, PaperTable
from terrafl.reports.collect import Run
from terrafl.reports.comparison import Group, compare


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
    planned = [cell for name in SHOWN for cell in plan(table, profile_named(name))]
    blocks = [
        _block(table, [c for c in planned if (c.algorithm, c.column) == place], results, preferred)
        for place in product(table.algorithms, table.columns)
    ]
    return PaperTable(table.name, table.title, tuple(blocks), timed=table.alone)


def _block(table: Table, planned: Sequence[Planned], results: Path, preferred: str | None) -> Block:
    """Return a column under an algorithm, for which these runs are planned in all profiles."""
    runs = {
        cell.place: Run(cell.place.as_posix(), summary)
        for cell in planned
        if (summary := read_result(results, cell.place))
    }

    def weight(profile: str) -> tuple[bool, int]:
        done = [cell for cell in planned if cell.place in runs and cell.config.profile == profile]
        methods = {cell.row.label for cell in done}
        return bool(methods) and profile == preferred, len(methods)

    profile = max(SHOWN, key=weight)
    cells = [cell for cell in planned if cell.config.profile == profile]
    group = _group(cells, runs)
    column = cells[0].column
    return Block(
        label=column.label,
        scenario=column.scenario,
        algorithm=cells[0].algorithm,
        profile=profile if group else "",
        full_rounds=configure(scenario=column.scenario).rounds,
        group=group,
        lines=tuple(
            _line(table, [cell for cell in cells if cell.row == row], group, results)
            for row in table.rows
        ),
    )


def _group(cells: Sequence[Planned], runs: Mapping[PurePosixPath, Run]) -> Group | None:
    done = [runs[cell.place] for cell in cells if cell.place in runs]
    if not done:
        return None
    groups = compare(done, outside={c.method for c in cells if c.row.beyond_paper}).groups
    if len(groups) > 1:
        names = ", ".join(sorted({group.methods[0].runs[0].name for group in groups}))
        raise RunFolderError(
            "the results of a column must come from one experiment; these differ in more than "
            f"selector and seed: {names}. Delete the older ones and run them again."
        )
    labels = {cell.method: cell.row.label for cell in cells}
    methods = (replace(m, label=labels[m.selector, m.variant]) for m in groups[0].methods)
    return replace(groups[0], methods=tuple(methods))


def _line(table: Table, cells: Sequence[Planned], group: Group | None, results: Path) -> Line:
    """Return the line of a row; the cells are its runs."""
    cell, methods = cells[0], group.methods if group else ()
    seconds = [read_seconds(results, cell.place) for cell in cells] if table.alone else []
    known = [each for each in seconds if each is not None]
    return Line(
        label=cell.row.label,
        printed=table.printed.get((cell.algorithm, cell.row.label, cell.column.scenario)),
        method=next((m for m in methods if (m.selector, m.variant) == cell.method), None),
        train_s=fmean(known) if known else None,
        beyond_paper=cell.row.beyond_paper,
    )
