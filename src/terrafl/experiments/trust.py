"""Whether code that a run folder names may be imported.

A configuration can name a user's class as ``module:Class``, and importing a module runs it. A run
folder may come from another person. Its code is imported only if the user says so, if the module
is loaded already, or if this user has run the same source before.
"""

import contextlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from terrafl.errors import DataError, RunFolderError
from terrafl.folders import sha256_of, user_cache
from terrafl.provenance import source_files


def require_trust(plain: Mapping[str, Any], source: Path) -> None:  # Any: what TOML can hold
    """Refuse a configuration whose code is unknown, before anything of it is imported.

    Parameters
    ----------
    plain
        The configuration.
    source
        The file that it was read from.
    """
    tables = (part if isinstance(part, Mapping) else {"name": part} for part in plain.values())
    names = [str(table.get("name", "")) for table in tables]
    unknown = [name for name in names if ":" in name and not _is_known(name.partition(":")[0])]
    if unknown:
        raise RunFolderError(
            f"{source} names code that you have not run before, and importing it would run it: "
            f"{', '.join(unknown)}. Read that code; if you trust it, repeat with --trust."
        )


def remember(parts: Iterable[object]) -> None:
    """Note that this user runs the source of these parts, where they are the user's."""
    for file in source_files(parts).values():
        with contextlib.suppress(OSError, DataError):  # then the user will be asked again
            _store().mkdir(parents=True, exist_ok=True)
            (_store() / sha256_of(file)).touch()


def _is_known(module: str) -> bool:
    if module in sys.modules:
        return True
    file = _found(module)
    return file is not None and (_store() / sha256_of(file)).exists()


def _found(module: str) -> Path | None:
    """Return the file of a module without importing anything, not even its packages."""
    relative = Path(*module.split("."))
    candidates = (
        Path(entry or ".") / part
        for entry in sys.path
        for part in (relative.with_suffix(".py"), relative / "__init__.py")
    )
    return next((file for file in candidates if file.is_file()), None)


def _store() -> Path:
    return user_cache() / "trusted-code"
