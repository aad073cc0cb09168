"""The data of a page: groups, runs, and the federations that runs share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Any

from terrafl.reports.names import metric_name
from terrafl.reports.sections import Section, Study
from terrafl.reports.trace import Trace
from terrafl.reports.wire import (
    MOST_PACKED,
    curve_columns,
    federation_columns,
    pack,
    step_columns,
)

__all__ = ["bundle", "group_plain", "packed", "run_plain"]

Plain = dict[str, Any]  # Any: what JSON can hold


def packed(sections: Sequence[Section], most_bytes: int = MOST_PACKED) -> str:
    """Return the data of a report, compressed.

    If it would exceed ``most_bytes``, selections are kept of every second round only, or every
    fourth, and so on. Counts of participation stay exact, and the page says what is left out.
    """
    for halvings in count():
        text = pack(bundle(sections, every=2**halvings))
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
                columns = federation_columns(study.trace.federation)
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
    pairs = zip(section.group.methods, section.styles, strict=True)
    return {
        "slug": section.slug,
        "title": section.title,
        "budget": section.group.budget,
        "metric": metric_name(section.group.problem.metric),
        "methods": [{"name": method.name, "style": style} for method, style in pairs],
    }


def run_plain(study: Study, slug: str, method: int, number: int) -> Plain:
    """Return a run as the page needs it, without its columns."""
    summary, settings = study.run.summary, study.settings
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
        "signal": _signal(study.trace),
    }


def _whole(text: str) -> int:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def _signal(trace: Trace) -> str:
    return next((step.split.measure for step in trace.steps if step.split), "update_norm")


def _body(study: Study, every: int) -> Plain:
    trace = study.trace
    points = trace.points() or study.run.summary.curve  # without a journal
    last = trace.steps[-1].round if trace.steps else 0
    kept = [step for step in trace.steps if step.round % every == 0 or step.round == last]
    return {
        "curve": curve_columns(points, trace.seconds(), thin=True),
        "steps": step_columns(kept),
        "taken": trace.participation(),
    }
