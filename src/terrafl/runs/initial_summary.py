"""The summary of a run that has no result yet, from plain values of its configuration."""

from collections.abc import Mapping
from dataclasses import asdict, fields

from terrafl.errors import RunFolderError
from terrafl.runs.checks import check_of, checked, parsed
from terrafl.runs.config_file import Plain, read_config_file
from terrafl.runs.events import Costs
from terrafl.runs.folder import RunFolder
from terrafl.runs.summary import Labels, Summary

_UNNAMED = dict.fromkeys((field.name for field in fields(Labels)), "") | {"seed": 0}


def initial_summary(folder: RunFolder) -> Summary:
    """Return the summary of a run that has just started.

    The names come from the table ``[labels]``. Older runs do not have it: they go by the names in
    their settings, with an empty variant and experiment. Nothing that the configuration names is
    imported.

    Raises
    ------
    RunFolderError
        If the configuration is not that of a terrafl run, or a value in it is invalid.
    """
    plain = read_config_file(folder.config)
    try:
        labels = _labels(plain)
        versions = checked(check_of(Mapping[str, str]), "versions", plain.get("versions", {}))
    except ValueError as error:
        raise RunFolderError(
            f"{folder.config} must be the configuration of a terrafl run: {error}."
        ) from error
    return Summary(
        **asdict(labels),
        rounds=0,
        stopped="",
        **asdict(Costs()),
        accuracy=0.0,
        accuracy_participating=0.0,
        best=0.0,
        mean_last_ten=0.0,
        curve=(),
        versions=versions,
    )


def _labels(plain: Plain) -> Labels:
    table = _table(plain["labels"]) if "labels" in plain else _names(plain)
    labels = parsed(Labels, _UNNAMED | table)
    if not labels.selector or not labels.algorithm:
        raise ValueError("it must name a selector and an algorithm")
    return labels


def _names(plain: Plain) -> Plain:
    """Return the names in the settings of a simulated run, or of one on Flower."""
    parts = plain.get("strategy", [])
    strategies = [_table(part).get("name", "") for part in parts] if isinstance(parts, list) else []
    model = plain.get("model", "")
    return {
        **{key: plain[key] for key in ("dataset", "scenario", "profile", "seed") if key in plain},
        "model": model if isinstance(model, str) else _table(model).get("name", ""),
        "selector": _table(plain.get("selector")).get("name", ""),
        "algorithm": _table(plain.get("algorithm")).get("name", "")
        or "+".join(map(str, strategies)).lower(),
    }


def _table(value: object) -> Plain:
    return value if isinstance(value, dict) else {}
