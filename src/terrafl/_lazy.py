"""Public names that are loaded when they are first used, so that importing a room stays cheap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a module's ``__getattr__`` that finds names in the modules they live in."""

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find
