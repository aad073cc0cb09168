"""What a run is before it has a result."""

from __future__ import annotations

from typing import Any

from terrafl.errors import RunFolderError
from terrafl.experiments.config import Plain, RunConfig, read_toml
from terrafl.runs import RunFolder, Summary

__all__ = ["opening_summary"]

NOTHING_YET: dict[str, Any] = {  # Any: the fields of a summary
    "rounds": 0,
    "stopped": "",
    "client_updates": 0,
    "samples_trained": 0,
    "loss_queries": 0,
    "samples_queried": 0,
    "bytes_down": 0,
    "bytes_up": 0,
    "reports_refused": 0,
    "accuracy": 0.0,
    "accuracy_participating": 0.0,
    "best": 0.0,
    "mean_last_ten": 0.0,
    "curve": (),
}


def opening_summary(folder: RunFolder) -> Summary:
    """Return the summary of a run that was just begun, from its configuration.

    A class of the user's own is not imported for this: such a run goes by its names alone.
    """
    plain = read_toml(folder.config)
    versions = plain.pop("versions", {})
    plain.pop("labels", None)
    names = {key: str(_table(plain, key).get("name", "")) for key in _PARTS}
    if not names["selector"] or not names["algorithm"]:
        raise RunFolderError(f"{folder.config} must be the configuration of a terrafl run.")
    known: dict[str, Any] = {
        "dataset": str(plain.get("dataset", "")),
        "scenario": str(plain.get("scenario", "")),
        "profile": str(plain.get("profile", "")),
        "seed": int(plain.get("seed", 0)),
        "selector": names["selector"],
        "algorithm": names["algorithm"],
        "model": names["model"],
        "variant": "",
        "experiment": "",
    }
    if not any(":" in name for name in names.values()):
        config = RunConfig.from_plain(plain)
        known |= {
            "model": config.model_label,
            "variant": config.variant,
            "experiment": config.experiment,
        }
    return Summary(**known, **NOTHING_YET, versions=versions)


_PARTS = ("selector", "algorithm", "model", "partition", "backbone")


def _table(plain: Plain, key: str) -> Plain:
    table = plain.get(key, {})
    return table if isinstance(table, dict) else {}
