"""The files of a finished run that the tables are made from; its model is not kept."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from terrafl.runs import RunFolder, Summary, read_events
from terrafl.runs.atomic import write_atomically

__all__ = ["keep_results", "read_result", "read_seconds", "seconds_of"]

SECONDS = "seconds.json"

_log = logging.getLogger(__name__)


def keep_results(places: Iterable[PurePosixPath], runs: Path, results: Path) -> None:
    """Copy the summary and the configuration of every finished run.

    An existing result that differs is replaced, with a warning. The run's seconds are kept in a
    file of their own: equal runs have equal summaries, so a summary cannot hold them.
    """
    for place in places:
        run, kept = RunFolder(runs / place), RunFolder(results / place)
        if not run.is_complete:
            continue
        if kept.summary.exists():
            if kept.summary.read_bytes() == run.summary.read_bytes():
                continue
            _log.warning("%s held another result; this run's result replaces it", kept.path)
        kept.path.mkdir(parents=True, exist_ok=True)
        write_atomically(kept.config, run.config.read_bytes())
        write_atomically(kept.path / SECONDS, json.dumps(seconds_of(run)).encode() + b"\n")
        write_atomically(kept.summary, run.summary.read_bytes())


def seconds_of(run: RunFolder) -> dict[str, float]:
    """Return the seconds that a run spent on training, client selection and evaluation."""
    # Work that was repeated after an interruption counts once.
    events = {(e["event"], e["round"], e.get("iteration")): e for e in read_events(run.timings)}

    def spent(kind: str, key: str) -> float:
        return round(sum(float(e[key]) for e in events.values() if e["event"] == kind), 3)

    return {
        "train": spent("iteration", "train_s"),
        "select": spent("selection", "seconds"),
        "evaluate": spent("evaluation", "seconds"),
    }


def read_result(results: Path, place: PurePosixPath) -> Summary | None:
    """Return the summary of a run; ``None`` if it was not run."""
    folder = RunFolder(results / place)
    return folder.read_summary() if folder.summary.exists() else None


def read_seconds(results: Path, place: PurePosixPath) -> float | None:
    """Return the seconds that a run spent on training and selection; ``None`` if unknown."""
    file = results / place / SECONDS
    if not file.exists():
        return None
    seconds = json.loads(file.read_bytes())
    return float(seconds["train"] + seconds["select"])
