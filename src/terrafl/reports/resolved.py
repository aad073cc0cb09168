"""The settings of runs: what they share, and where methods differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from terrafl.runs import RunFolder
from terrafl.runs.config_file import read_settings

Settings = dict[str, str]


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


def settings_of(folder: RunFolder) -> Settings:
    """Read a run's resolved configuration by dotted name; empty if it was not kept.

    The seed is left out: it differs between the runs of a method.
    """
    if not folder.config.exists():
        return {}
    settings = read_settings(folder.config)
    return {name: _shown(value) for name, value in settings.items() if name != "seed"}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def resolve_settings(by_method: Mapping[str, Sequence[Settings]]) -> Resolved:
    """Separate the settings that all methods of a group share from those that differ."""
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
        first = next((settings for settings in of_method if settings), {})
        differing[name] = {key: value for key, value in first.items() if key not in shared}
    return Resolved(shared, differing)
