"""``terrafl doctor``: information about the machine for a bug report."""

import json as jsonlib
import os
import platform
import re
import shutil
import tempfile
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Any

import typer

from terrafl import data
from terrafl.cli.output_options import Json
from terrafl.experiments.api import default_workers
from terrafl.folders import home
from terrafl.provenance import versions

Plain = dict[str, Any]  # Any: what JSON can hold

_NOT_FOR_USERS = frozenset({"dev", "docs"})


def doctor(json: Json = False) -> None:
    """Show versions, cores, data, free disk and extras. Paste the output into bug reports."""
    found = examine()
    if json:
        typer.echo(jsonlib.dumps(found, indent=1))
        return
    for heading, lines in found.items():
        typer.echo(heading)
        for name, value in lines.items():
            typer.echo(f"  {name:<16} {_shown(value)}")


def examine() -> Plain:
    """Describe the installation and the machine, without loading torch or changing anything."""
    return {
        "versions": versions() | {name: _version(name) for name in _requirements("")},
        "machine": {
            "system": platform.platform(terse=True),
            "architecture": platform.machine(),
            "cores here": os.cpu_count(),
            "cores usable": default_workers(),
            "memory": _memory(),
        },
        "free disk": {
            str(folder): _free(folder)
            for folder in (Path.cwd(), home(None), Path(tempfile.gettempdir()))
        },
        "data": {row.name: "here" if row.present else None for row in data.describe()},
        "extras": {
            extra: {name: _version(name) for name in _requirements(extra)} for extra in _extras()
        },
    }


def _extras() -> list[str]:
    offered = metadata("terrafl").get_all("Provides-Extra") or []
    return sorted(set(offered) - _NOT_FOR_USERS)


def _requirements(extra: str) -> list[str]:
    """Return the requirements of an extra; the empty extra is the package itself."""
    names = []
    for requirement in requires("terrafl") or []:  # such as: pyarrow>=18; extra == 'parquet'
        what, _, condition = requirement.partition(";")
        wanted = re.search(r"extra\s*==\s*['\"]([^'\"]+)", condition)
        name = re.match(r"[\w.-]+", what)
        if name and (wanted.group(1) if wanted else "") == extra:
            names.append(name.group())
    return names


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _memory() -> str:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{pages / 1e9:.1f} GB"


def _free(folder: Path) -> str:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return f"{shutil.disk_usage(there).free / 1e9:.1f} GB"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items())
    return "not found" if value is None else str(value)
