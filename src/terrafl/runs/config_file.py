"""Read ``config.toml`` as plain values: nothing that it names is imported."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from terrafl.errors import RunFolderError

Plain = dict[str, Any]  # Any: what TOML can hold

_NOT_SETTINGS = ("labels", "versions")


def read_config_file(path: Path) -> Plain:
    """Return the tables of a run's configuration."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise RunFolderError(
            f"{path} must be a TOML file; it is damaged: {error}. Restore it, or leave the run out."
        ) from error


def read_settings(path: Path) -> dict[str, object]:
    """Return the settings of a run by dotted name, without labels and versions."""
    plain = read_config_file(path)
    settings = {key: value for key, value in plain.items() if key not in _NOT_SETTINGS}
    try:
        return dict(dotted(settings))
    except RecursionError as error:
        raise RunFolderError(
            f"{path} must be a configuration; its tables nest too deeply."
        ) from error


def dotted(plain: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested settings by dotted name; the tables of a list are numbered from 1.

    Examples
    --------
    >>> dict(dotted({"rounds": 5, "model": {"name": "mlp", "hidden": [64]}}))
    {'rounds': 5, 'model.name': 'mlp', 'model.hidden': [64]}
    >>> dict(dotted({"strategy": [{"name": "FedAvg"}]}))
    {'strategy.1.name': 'FedAvg'}
    """
    for key, value in plain.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            value = {str(number): item for number, item in enumerate(value, start=1)}  # noqa: PLW2901  # read as a table
        if isinstance(value, Mapping):
            yield from dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
