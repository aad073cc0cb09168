"""Layers of plain settings: scenarios, files, and how they are merged."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from terrafl.data import is_npz_path
from terrafl.errors import ConfigurationError
from terrafl.settings import Plain

DEFAULT_SCENARIOS = {"digits": "digits", "fmnist": "fmnist-4", "cifar10": "cifar10-1"}


def scenario_names() -> list[str]:
    """Return the scenarios that ship with the package."""
    folder = files("terrafl.experiments") / "scenarios"
    names = (item.name.removesuffix(".toml") for item in folder.iterdir())
    return sorted(name for name in names if not name.startswith("_"))


def default_scenario(dataset: str) -> str:
    """Return the default scenario of a data set."""
    if is_npz_path(dataset):
        return "_own"
    return DEFAULT_SCENARIOS.get(dataset, dataset or "digits")


def read_scenario(name: str) -> Plain:
    """Read a scenario, merged over the one it is based on."""
    text = (files("terrafl.experiments") / "scenarios" / f"{name}.toml").read_text()
    layer = tomllib.loads(text)
    base = layer.pop("based_on", None)
    return merged(read_scenario(base), layer) if base else layer


def read_toml(path: Path) -> Plain:
    """Read a configuration file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise ConfigurationError(f"{path} must be a TOML file; {error}.") from error


def read_configuration(path: Path) -> Plain:
    """Read a configuration file, such as the ``config.toml`` of a run."""
    plain = read_toml(path)
    for recorded in ("labels", "versions"):  # not settings
        plain.pop(recorded, None)
    return plain


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> Plain:  # Any: TOML values
    """Merge one layer over another; a part with another name does not inherit settings."""
    result = dict(low)
    for key, value in high.items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            renamed = "name" in value and value["name"] != below.get("name")
            result[key] = merged({} if renamed else below, value)
        else:
            result[key] = value
    return result
