"""What has changed since a run was begun: a result must not be made of two halves unawares."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from terrafl.errors import RunFolderError
from terrafl.experiments.config import RunConfig, read_toml
from terrafl.experiments.provenance import DECISIVE, versions
from terrafl.runs import RunFolder
from terrafl.runs.checkpoint import Checkpoint

__all__ = ["Drift", "conditions", "drift_since", "require_none", "stored_versions", "warn_of_drift"]

_log = logging.getLogger(__name__)

Drift = dict[str, tuple[str, str]]
"""What changed, and from what to what."""

_ABSENT = "absent"


def conditions(config: RunConfig) -> dict[str, str]:
    """Return everything that decides a result, by name: each setting, and each version.

    A checkpoint keeps them, so that the configuration file cannot be edited behind its back.
    """
    now = versions()
    return dict(_flat(config.to_plain())) | {name: now[name] for name in DECISIVE}


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:  # Any: TOML
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, json.dumps(value, default=str)


def drift_since(folder: RunFolder, start: Checkpoint | None, config: RunConfig) -> Drift:
    """Return what differs between a run's newest checkpoint and now.

    Without a checkpoint nothing is mixed yet but what the configuration file says: its versions
    are compared.
    """
    now = conditions(config)
    if start is not None:
        then = dict(start.values.get("conditions") or {})
        names = sorted(then.keys() | now.keys()) if then else []
    else:
        then = stored_versions(folder)
        names = [name for name in DECISIVE if name in then]
    pairs = {name: (then.get(name, _ABSENT), now.get(name, _ABSENT)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def require_none(drift: Drift, folder: RunFolder) -> None:
    """Refuse to go on under other conditions, with a list of what changed."""
    if not drift:
        return
    width = max(map(len, drift))
    changes = "\n".join(f"  {name:{width}}  {then} -> {now}" for name, (then, now) in drift.items())
    raise RunFolderError(
        f"{folder.path} was begun under other conditions:\n{changes}\n"
        "Undo the change to get the result of an undisturbed run, or go on all the same with "
        f"terrafl resume {folder.path} --allow-drift, which is written into the journal."
    )


def warn_of_drift(folders: Iterable[RunFolder]) -> None:
    """Say when finished runs were made with other versions than the ones here."""
    now, drifted = versions(), []
    for folder in folders:
        then = stored_versions(folder)
        changed = [name for name in DECISIVE if name in then and then[name] != now[name]]
        if changed:
            drifted.append(", ".join(f"{k} {then[k]}, now {now[k]}" for k in changed))
    if drifted:
        _log.warning(
            "%d earlier run(s) were made with other versions (%s): results may differ from what "
            "would come out now",
            len(drifted),
            drifted[0],
        )


def stored_versions(folder: RunFolder) -> dict[str, str]:
    """Return the versions that a run was begun with, as its configuration file has them."""
    stored = read_toml(folder.config).get("versions", {})
    return dict(stored) if isinstance(stored, Mapping) else {}
