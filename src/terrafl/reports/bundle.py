"""The data of a page: groups, runs, and the federations that runs share.

Short names, columns, and numbers rounded to the visible digits.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

from terrafl.reports.formats import metric_named
from terrafl.reports.sections import Section, Study
from terrafl.reports.trace import Step

Plain = dict[str, Any]  # Any: what JSON can hold

MOST_PACKED = 2_300_000
"""Bytes of data in a page that must stay below 3 MB with everything else."""
MOST_POINTS = 800
"""Evaluations of a run that a page keeps; more cannot be distinguished on a screen."""


def packed(sections: Sequence[Section], most_bytes: int = MOST_PACKED) -> str:
    """Return the data of a report, compressed.

    If it would exceed ``most_bytes``, selections are kept of every second round only, or every
    fourth, and so on. Counts of participation stay exact, and the page says what is left out.
    """
    for halvings in count():
        plain = bundle(sections, every=2**halvings)
        text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
        # The browser's DecompressionStream unpacks it.
        text = b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
        if len(text) <= most_bytes or halvings == 20:
            break
    return text


def bundle(sections: Sequence[Section], *, every: int = 1) -> Plain:
    """Return the data of a report, with the selections of every so many rounds."""
    federations: list[Plain] = []
    runs: list[Plain] = []
    for section in sections:
        for method, studies in enumerate(section.studies):
            for study in studies:
                columns = asdict(study.trace.federation)
                if columns not in federations:  # one seed, one federation, whatever the method
                    federations.append(columns)
                plain = run_plain(study, section.slug, method, len(runs))
                plain["federation"] = federations.index(columns)
                runs.append(plain | _body(study, every))
    return {
        "live": False,
        "every": every,
        "groups": [group_plain(section) for section in sections],
        "federations": federations,
        "runs": runs,
    }


def group_plain(section: Section) -> Plain:
    """Return a group as the page needs it."""
    pairs = zip(section.group.methods, section.group.styles, strict=True)
    return {
        "slug": section.slug,
        "title": section.group.title,
        "budget": section.group.budget,
        "metric": asdict(section.group.metric),
        "methods": [{"name": method.name, "style": style} for method, style in pairs],
    }


def run_plain(study: Study, slug: str, method: int, number: int) -> Plain:
    """Return a run as the page needs it, without its columns."""
    summary, settings = study.run.summary, study.settings
    measures = (step.split.measure for step in study.trace.steps if step.split)
    return {
        "id": number,
        "name": study.run.name,
        "group": slug,
        "method": method,
        "seed": summary.seed,
        "eta": _whole(settings.get("selector.eta", "")),
        "planned": _whole(settings.get("rounds", "")) or summary.rounds,
        "done": summary.rounds,
        "status": "finished",
        "signal": next(measures, "update_norm"),
        "metric": asdict(metric_named(summary.metric)),
    }


def _whole(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def _body(study: Study, every: int) -> Plain:
    trace = study.trace
    last = trace.steps[-1].round if trace.steps else 0
    kept = [step for step in trace.steps if step.round % every == 0 or step.round == last]
    return {
        "curve": curve_columns(study, thin=True),
        "steps": step_columns(kept),
        "taken": trace.participation(),
    }


def curve_columns(study: Study, *, start: int = 0, thin: bool = False) -> Plain:
    """Return the evaluations from ``start`` on, column by column; seconds may be unknown."""
    metric, seconds = metric_named(study.run.summary.metric), study.trace.seconds()
    points = study.trace.points() or study.run.summary.curve  # without a journal
    chosen = range(start, len(points))
    if thin and len(chosen) > MOST_POINTS:
        step = -(-len(chosen) // MOST_POINTS)
        chosen = range(chosen[-1] % step, len(points), step)  # the last one is kept
    kept = [points[i] for i in chosen]
    return {
        "round": [point.round for point in kept],
        "updates": [point.client_updates for point in kept],
        "samples": [point.samples for point in kept],
        "accuracy": [round(metric.scale * point.accuracy, metric.decimals + 1) for point in kept],
        "seconds": [round(seconds[i], 3) for i in chosen] if seconds else [],
    }


def step_columns(steps: Sequence[Step]) -> Plain:
    """Return iterations column by column; ``client`` and ``value`` hold all of them in a row."""
    splits = [step.split for step in steps]
    return {
        "round": [step.round for step in steps],
        "iteration": [step.iteration for step in steps],
        "size": [len(step.clients) for step in steps],
        "client": [client for step in steps for client in step.clients],
        "value": [_short(value) for step in steps for value in step.values],
        "q1": [split.k_q1 if split else 0 for split in splits],
        "q3": [split.k_q3 if split else 0 for split in splits],
        "tau": [split.tau if split else 0 for split in splits],
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
