"""The files of a run that tables need: summary, configuration and seconds."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from terrafl.runs import RunFolder, Summary, read_events
from terrafl.runs.atomic import write_atomically
from terrafl.runs.events import EvaluationTime, IterationTime, SelectionTime

SECONDS = "seconds.json"

_log = logging.getLogger(__name__)


def keep_results(places: Iterable[PurePosixPath], runs: Path, results: Path) -> None:
    """Copy the summary and the configuration of every finished run.

    A result that exists already and differs is replaced, with a warning. The seconds of a run are
    copied too: the summary, equal for equal runs, cannot hold them.
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
    """Return the seconds that a run spent on training, on choosing clients and on evaluation."""
    # An iteration that was repeated after an interruption counts once.
    spent: dict[str, dict[tuple[int, ...], float]] = {"train": {}, "select": {}, "evaluate": {}}
    for event in read_events(run.timings):
        match event:
            case IterationTime():
                spent["train"][event.round, event.iteration] = event.train_s
            case SelectionTime():
                spent["select"][event.round, event.iteration] = event.seconds
            case EvaluationTime():
                spent["evaluate"][event.round,] = event.seconds
    return {kind: round(sum(seconds.values()), 3) for kind, seconds in spent.items()}


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
