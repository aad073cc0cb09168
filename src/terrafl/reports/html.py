"""The report: a self-contained page, figures and tables.

The security policy of the page allows the scripts and styles in it by their hashes.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from terrafl.errors import RunFolderError
from terrafl.reports.bundle import packed
from terrafl.reports.collect import Unreadable
from terrafl.reports.comparison import Comparison, compare_runs
from terrafl.reports.figures import draw_figures
from terrafl.reports.formats import ACCURACY, as_count, as_megabytes
from terrafl.reports.sections import Section, make_sections
from terrafl.reports.tables import rows, to_csv, to_latex, to_markdown, verdict
from terrafl.runs.atomic import write_atomically

SCRIPTS = (
    *("model.js", "svg.js", "theme.js", "bands.js", "tip.js", "curves.js", "tree.js", "cells.js"),
    *("heat.js", "fairness.js", "explorer.js", "live.js", "main.js"),
)


@dataclass(frozen=True, slots=True)
class Assets:
    """The scripts and styles of a page.

    Parameters
    ----------
    library, script, style
        The charting library, the code of the page, and all styles.
    """

    library: str
    script: str
    style: str

    def policy(self, *, live: bool) -> str:
        """Return a Content-Security-Policy that allows this code only.

        Nothing can be loaded or sent, except that a live page receives news from its server.
        """
        scripts = " ".join(_hash(text) for text in (self.library, self.script))
        parts = [
            *("default-src 'none'", f"script-src {scripts}", f"style-src {_hash(self.style)}"),
            *("base-uri 'none'", "form-action 'none'"),
        ]
        return "; ".join([*parts, "connect-src 'self'"] if live else parts)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def load_assets() -> Assets:
    """Read the files of a page."""
    folder = files("terrafl.reports") / "page"

    def read(*names: str) -> str:
        return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)

    script = read(*SCRIPTS)
    return Assets(
        library=read("vendor/uPlot.iife.min.js"),
        script=f'(() => {{\n"use strict";\n{script}}})();',
        # The rules of the page come last: those for small screens must win.
        style=read("vendor/uPlot.min.css", "charts.css", "page.css"),
    )


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    on_section: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Compare runs and write the report.

    ``out`` receives ``report.html``; for every problem and algorithm its figures as ``.svg`` and
    ``.png``; and ``table.md``, ``table.csv`` and ``table.tex``. Equal folders give equal bytes.

    Parameters
    ----------
    runs
        Run folders, or folders that contain some at any depth.
    out
        The folder to write to; it is created if needed, and files of the same names are replaced.
    on_section
        Called with the number of problems drawn, and of all problems.

    Returns
    -------
    Path
        The page.
    """
    comparison = compare_runs(runs)
    sections = make_sections(comparison)
    files = {
        "table.md": to_markdown(comparison).encode(),
        "table.csv": to_csv(rows(comparison)).encode(),
        "table.tex": to_latex(comparison).encode(),
        "report.html": report_page(comparison, sections).encode(),
    }
    for done, section in enumerate(sections, start=1):
        for name, pictures in draw_figures(section).items():
            files[f"{name}-{section.slug}.svg"] = pictures.svg
            files[f"{name}-{section.slug}.png"] = pictures.png
        on_section(done, len(sections))
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomically(out / name, content)
    except OSError as error:
        raise RunFolderError(
            f"{out} must be a folder that can be written to: {error.strerror}."
        ) from error
    return out / "report.html"


def report_page(comparison: Comparison, sections: Sequence[Section]) -> str:
    """Return the page of a report, with a list of what cannot be read."""
    of_runs = [u for section in sections for s in section.every_study for u in s.unreadable]
    unreadable = [*comparison.unreadable, *of_runs]
    return render_page(sections, data=packed(sections), unreadable=unreadable)


def html_table(comparison: Comparison) -> str:
    """Return the tables as a piece of HTML, as a notebook shows it."""
    return _render("notebook.html.j2", groups=comparison.groups)


def render_page(
    sections: Sequence[Section],
    *,
    data: str = "",
    live: bool = False,
    unreadable: Sequence[Unreadable] = (),
) -> str:
    """Return the whole page.

    Parameters
    ----------
    sections
        What it shows.
    data
        The packed data of its charts.
    live
        Whether it receives news from its server.
    unreadable
        Run folders, or parts of them, that cannot be read.
    """
    page = {"assets": load_assets(), "data": data, "live": live, "unreadable": unreadable}
    return _render("page.html.j2", sections=sections, **page)


def render_sections(sections: Sequence[Section]) -> str:
    """Return the sections of a page: filled tables, and places for charts."""
    return _render("sections.html.j2", sections=sections)


def _render(template: str, **values: object) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("terrafl.reports"),
        autoescape=True,  # names of selectors and folders may hold anything
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": as_count,
        "megabytes": as_megabytes,
        "estimate": ACCURACY.mean,
        "verdict": verdict,
        "versions_of": _versions,
    }
    return environment.get_template(template).render(values)


def _versions(sections: Sequence[Section]) -> dict[str, str]:
    versions: dict[str, set[str]] = {}
    for study in (study for section in sections for study in section.every_study):
        for name, version in study.run.summary.versions.items():
            versions.setdefault(name, set()).add(str(version))
    return {name: ", ".join(sorted(versions[name])) for name in sorted(versions)}
