"""The report as one page that needs nothing else, with its figures and tables beside it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from terrafl.errors import RunFolderError
from terrafl.reports.comparison import Comparison, Group, compare_runs
from terrafl.reports.curves import Pictures, draw_curves
from terrafl.reports.flat import rows
from terrafl.reports.formats import as_count, as_mean_sd, as_megabytes
from terrafl.reports.names import algorithm_name
from terrafl.reports.tables import score_cells, to_csv, to_latex, to_markdown
from terrafl.reports.verdicts import verdict
from terrafl.runs.atomic import write_atomically

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["html_table", "write_report"]

LONGEST_SLUG = 80


@dataclass(frozen=True, slots=True)
class Section:
    """What the page shows of one group."""

    slug: str
    group: Group
    pictures: Pictures

    @property
    def title(self) -> str:
        """The heading."""
        return _title(self.group)

    @property
    def verdict(self) -> str:
        """The group in words."""
        return verdict(self.group)

    @property
    def image(self) -> str:
        """The figure as an address that holds all of it."""
        return f"data:image/svg+xml;base64,{b64encode(self.pictures.svg).decode()}"


def write_report(runs: Sequence[Path], out: Path) -> Path:
    """Compare runs and write what they show.

    ``out`` receives ``report.html``, ``curves-*.svg`` and ``.png`` for every problem and
    algorithm, and ``table.md``, ``table.csv`` and ``table.tex``. Equal runs give equal bytes.

    Parameters
    ----------
    runs
        Run folders, or folders that contain some at any depth.
    out
        The folder to write to; it is made if need be, and files of the same names replaced.

    Returns
    -------
    Path
        The page.
    """
    comparison = compare_runs(runs)
    sections = _sections(comparison)
    all_rows = rows(comparison)
    files = {
        "table.md": to_markdown(all_rows).encode(),
        "table.csv": to_csv(all_rows).encode(),
        "table.tex": to_latex(all_rows).encode(),
        **{f"curves-{s.slug}.svg": s.pictures.svg for s in sections},
        **{f"curves-{s.slug}.png": s.pictures.png for s in sections},
        "report.html": _page(comparison, sections).encode(),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomically(out / name, content)
    except OSError as error:
        raise RunFolderError(
            f"{out} must be a folder that can be written to: {error.strerror}."
        ) from error
    return out / "report.html"


def _sections(comparison: Comparison) -> list[Section]:
    slugs = _slugs(f"{group.problem.name} {group.algorithm}" for group in comparison.groups)
    return [
        Section(slug, group, draw_curves(group))
        for slug, group in zip(slugs, comparison.groups, strict=True)
    ]


def _title(group: Group) -> str:
    return f"{group.problem.name}, {algorithm_name(group.algorithm)}"


def _slugs(titles: Iterable[str]) -> list[str]:
    """Return file names that are safe, short and all different."""
    slugs: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower())[:LONGEST_SLUG].strip("-") or "runs"
        candidates = chain([plain], (f"{plain}-{number}" for number in count(2)))
        slugs.append(next(slug for slug in candidates if slug not in slugs))
    return slugs


def html_table(comparison: Comparison) -> str:
    """Return the accuracy tables as a piece of HTML, as a notebook shows it."""
    template = _templates().get_template("accuracy.html.j2")
    return template.render(groups=comparison.groups)


def _page(comparison: Comparison, sections: Sequence[Section]) -> str:
    template = _templates().get_template("report.html.j2")
    return template.render(sections=sections, versions=_versions(comparison))


def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("terrafl.reports"),
        autoescape=True,  # names of selectors and folders are the user's, and may hold anything
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": as_count,
        "megabytes": as_megabytes,
        "mean_sd": as_mean_sd,
        "rows_of": lambda group: rows(Comparison((group,))),
        "score_cells": score_cells,
        "title_of": _title,
    }
    return environment


def _versions(comparison: Comparison) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for group in comparison.groups:
        for method in group.methods:
            for run in method.runs:
                for name, version in run.summary.versions.items():
                    found.setdefault(name, set()).add(str(version))
    return {name: ", ".join(sorted(found[name])) for name in sorted(found)}
