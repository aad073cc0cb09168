"""Make the tables of the documentation from results/ when the site is built.

``<!-- results NAME -->`` becomes the comparison of the summaries in ``results/NAME``;
``<!-- evidence SELECTOR -->`` becomes one line per experiment in which a selector took part;
``<!-- wildfire -->`` becomes the table of the simulated sensors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import mean, stdev

from terrafl.reports import compare_runs, rows, to_markdown
from terrafl.reports.formats import as_mean_sd
from terrafl.reports.names import algorithm_name

RESULTS = Path(__file__).parents[2] / "results"


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in the tables of a page."""
    if "<!-- wildfire -->" in markdown:
        markdown = markdown.replace("<!-- wildfire -->", wildfire())
    commands: dict[str, Callable[[str], str]] = {"results": results, "evidence": evidence}
    return re.sub(
        r"^<!-- (results|evidence) ([\w-]+) -->$",
        lambda found: commands[found.group(1)](found.group(2)),
        markdown,
        flags=re.MULTILINE,
    )


@cache
def _rows(name: str) -> list[dict[str, object]]:
    return rows(compare_runs([RESULTS / name]))


def results(name: str) -> str:
    """Return the table of one folder of summaries."""
    return (
        to_markdown(compare_runs([RESULTS / name]))
        .replace("### ", "**")
        .replace("\n\n|", "**\n\n|")
    )


def evidence(selector: str) -> str:
    """Return one line for each experiment in results/ with this selector.

    The paper's evaluation is left out: it has its own page, with profiles and ablations.
    """
    lines = [
        "| Experiment | Seeds | After the last round | Place | At equal client updates | Place |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    for folder in sorted(RESULTS.iterdir()):
        if folder.name == "paper" or next(folder.rglob("summary.json"), None) is None:
            continue
        found = _rows(folder.name)
        for row in found:
            if row["selector"] == selector:
                lines.append(_line(folder.name, row, _rivals(row, found)))
    return "\n".join(lines)


def _rivals(row: dict[str, object], found: list[dict[str, object]]) -> int:
    keys = ("experiment", "algorithm", "scenario", "dataset", "model", "profile")
    return sum(all(other.get(key) == row.get(key) for key in keys) for other in found)


def _line(folder: str, row: dict[str, object], rivals: int) -> str:
    words = [row["scenario"] or row["dataset"], algorithm_name(str(row["algorithm"]))]
    words += [row["variant"]] if row["variant"] else []
    cells = [f"`{folder}`: {', '.join(map(str, words))}", str(row["num_seeds"])]
    for score in ("accuracy", "equal_updates_accuracy"):
        place = row[f"{score}_rank"]
        cells += [
            as_mean_sd(row[f"{score}_percent"], row[f"{score}_sd"]),
            f"{place} of {rivals}" if place else "–",
        ]
    return f"| {' | '.join(cells)} |"


def wildfire() -> str:
    """Return the table of the simulated sensors: mean and sd over seeds."""
    table = json.loads((RESULTS / "wildfire" / "table.json").read_text())
    names = list(next(iter(table.values())))
    lines = [f"| | {' | '.join(names)} |", f"| :-- |{' --: |' * len(names)}"]
    for method, measures in table.items():
        cells = [f"{mean(measures[n]):.1f} ± {stdev(measures[n]):.1f}" for n in names]
        lines.append(f"| {method.capitalize()} | {' | '.join(cells)} |")
    return "\n".join(lines)
