"""Public names that are loaded on first use, so that importing a package stays cheap."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def catalog(*paths: str) -> dict[str, Any]:  # Any: classes of one kind
    """Return classes by their ``name``, given as ``module:Class``."""
    classes = [getattr(import_module(m), c) for m, c in (path.split(":") for path in paths)]
    return {cls.name: cls for cls in classes}


def lazily(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package; the first finds ``__all__`` too.

    The imports under ``if TYPE_CHECKING:`` in the package's file are the only list of its public
    names: type checkers read them there, and so does this function.

    Parameters
    ----------
    package, file
        Its ``__name__`` and ``__file__``.
    """
    homes = {
        alias.name: node.module
        for block in ast.parse(Path(file).read_bytes()).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def names() -> list[str]:
        return sorted(homes)

    def find(name: str) -> object:
        if name == "__all__":
            return names()
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find, names
