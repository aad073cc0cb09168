"""What has changed since a run was started: refuse to resume under other conditions."""

import json
import logging
from collections.abc import Iterable, Mapping

from terrafl.errors import RunFolderError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.config_layers import read_toml
from terrafl.provenance import DECISIVE, user_code, versions
from terrafl.runs import RunFolder
from terrafl.runs.checkpoint import Checkpoint
from terrafl.runs.config_file import dotted
from terrafl.selection.needs import known

_log = logging.getLogger(__name__)

Drift = dict[str, tuple[str, str]]
"""The conditions that changed, each with its value before and now."""

_ABSENT = "absent"


def conditions(config: RunConfig) -> dict[str, str]:
    """Return everything that decides a result, by name: settings, versions and user code.

    A checkpoint keeps them, so that an edit of the configuration file is noticed.
    """
    now = versions()
    settings = {name: json.dumps(v, default=str) for name, v in dotted(config.to_plain())}
    needs = config.selector.needs
    modules = [m.module for m in known().values() if m.name in needs]
    code = user_code(config.parts.values(), modules)
    return settings | {name: now[name] for name in DECISIVE} | code


def drift_since(folder: RunFolder, start: Checkpoint | None, config: RunConfig) -> Drift:
    """Return what differs between a run's newest checkpoint and now.

    Without a checkpoint the run starts from the beginning, and only the versions in its
    configuration file are compared.
    """
    now = conditions(config)
    if start is not None:
        then = _completed(start.values.get("conditions") or {}, now)
        names = sorted(then.keys() | now.keys()) if then else []
    else:
        then = stored_versions(folder)
        names = sorted(then.keys() & now.keys())
    pairs = {name: (then.get(name, _ABSENT), now.get(name, _ABSENT)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _completed(conditions: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return a checkpoint's conditions, in today's terms if it is older than ``RESULTS_VERSION``.

    Such a checkpoint names a digest of terrafl's source, and does not know user code.
    """
    then = dict(conditions)
    source = then.pop("source", None)
    if source is None:
        return then
    then.pop("terrafl", None)
    then["results_version"] = f"unknown (source {source})"
    return {name: value for name, value in now.items() if name.startswith("code.")} | then


def require_none(drift: Drift, folder: RunFolder) -> None:
    """Refuse to resume under other conditions, with a list of what changed."""
    if not drift:
        return
    width = max(map(len, drift))
    changes = "\n".join(f"  {name:{width}}  {then} -> {now}" for name, (then, now) in drift.items())
    raise RunFolderError(
        f"{folder.path} was started under other conditions:\n{changes}\n"
        "Undo the change to get the result of an uninterrupted run, or resume anyway with "
        f"terrafl resume {folder.path} --allow-drift, which is noted in the journal."
    )


def warn_of_drift(folders: Iterable[RunFolder]) -> None:
    """Log a warning if finished runs were made with other versions than the installed ones."""
    now, drifted = versions(), []
    for folder in folders:
        then = stored_versions(folder)
        changed = [name for name in DECISIVE if name in then and then[name] != now[name]]
        if changed:
            drifted.append(", ".join(f"{k} {then[k]}, now {now[k]}" for k in changed))
    if drifted:
        _log.warning(
            "%d earlier run(s) were made with other versions (%s): a new run may give another "
            "result",
            len(drifted),
            drifted[0],
        )


def stored_versions(folder: RunFolder) -> dict[str, str]:
    """Return the versions that a run was started with, from its configuration file."""
    stored = read_toml(folder.config).get("versions", {})
    return dict(stored) if isinstance(stored, Mapping) else {}
