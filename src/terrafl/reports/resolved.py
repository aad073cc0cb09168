"""The settings of runs: what they share, and where methods differ."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from terrafl.errors import RunFolderError
from terrafl.runs import RunFolder
from terrafl.settings import dotted

__all__ = ["Resolved", "flatten", "read_settings", "resolve_settings"]

Settings = dict[str, str]
_NOT_SETTINGS = ("seed", "versions", "labels")


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of a group.

    Parameters
    ----------
    shared
        Settings that all methods have in common.
    differing
        For every method, by name, the settings in which it differs from another.
    """

    shared: Settings
    differing: dict[str, Settings]


def read_settings(folder: RunFolder) -> Settings:
    """Read a run's resolved configuration as dotted names; empty if it was not kept."""
    try:
        text = folder.config.read_text(encoding="utf-8")
        plain = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{folder.config} must be a TOML file: {error}.") from error
    return flatten({key: value for key, value in plain.items() if key not in _NOT_SETTINGS})


def flatten(plain: Mapping[str, Any]) -> Settings:  # Any: what TOML can hold
    """Write nested settings as text by dotted name.

    Examples
    --------
    >>> flatten({"rounds": 5, "selector": {"name": "terraform", "search_range": ["Q1", "Q3"]}})
    {'rounds': '5', 'selector.name': 'terraform', 'selector.search_range': 'Q1, Q3'}
    """
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in dotted(plain).items()
    }


def resolve_settings(by_method: Mapping[str, Sequence[Settings]]) -> Resolved:
    """Tell what the methods of a group share from what is each one's own."""
    every = [settings for of_method in by_method.values() for settings in of_method]
    known = [settings for settings in every if settings]
    keys = dict.fromkeys(key for settings in known for key in settings)
    shared = {
        key: known[0][key]
        for key in keys
        if all(settings.get(key) == known[0].get(key) for settings in known)
    }
    differing = {}
    for name, of_method in by_method.items():
        own = next((settings for settings in of_method if settings), {})
        differing[name] = {key: value for key, value in own.items() if key not in shared}
    return Resolved(shared, differing)
