"""The messages to a live page: everything once, then what is new."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from threading import Lock
from typing import Any

from terrafl.errors import RunFolderError
from terrafl.reports import bundle
from terrafl.reports.comparison import compare
from terrafl.reports.html import render_sections
from terrafl.reports.live.watched import Watched, WatchedRun
from terrafl.reports.sections import Section, Study, make_sections
from terrafl.runs import Labels

MOST_STEPS = 2000
"""Iterations in one message: the page stays responsive while it catches up."""


@dataclass(slots=True, eq=False)
class Overview:
    """The comparison of all evaluations so far, made again when there is news."""

    watched: Watched
    sections: list[Section] = field(default_factory=list)
    places: dict[int, tuple[str, int]] = field(default_factory=dict)  # slug and method, by folder
    version: int = 0
    message: str = ""
    lock: Lock = field(default_factory=Lock)  # reading and sending are different threads
    _seen: object = None

    def look(self) -> None:
        """Read on in all runs; compare them again if any has news."""
        with self.lock:
            self.watched.poll()
            self._compare()

    def _compare(self) -> None:
        runs = list(self.watched.runs.values())
        seen = ([(run.number, run.version) for run in runs], self.watched.unreadable)
        if seen == self._seen:
            return
        self._seen = seen
        self.sections = _sections([run.study() for run in runs if run.trace.evaluations])
        self.version += 1
        self.places = {
            id(study.run.folder): (section.slug, method)
            for section in self.sections
            for method, of_method in enumerate(section.studies)
            for study in of_method
        }
        known = [run for run in runs if id(run.folder) in self.places]
        plain = {
            "groups": [bundle.group_plain(section) for section in self.sections],
            "places": [[run.number, *self.places[id(run.folder)]] for run in known],
            "html": render_sections(self.sections),
            "unreadable": self.watched.unreadable,
        }
        self.message = _message("sections", plain)


def _sections(studies: Sequence[Study]) -> list[Section]:
    """Group runs as a report does; two of one method and seed are distinguished by folder."""
    twins = Counter(_identity(study) for study in studies)
    runs = {
        id(study.run.folder): study
        if twins[_identity(study)] == 1
        else _named(study, ", ".join(filter(None, [study.run.summary.variant, study.run.name])))
        for study in studies
    }
    try:
        comparison = compare(study.run for study in runs.values())
    except RunFolderError:  # names that were chosen to collide: folders do not
        runs = {key: _named(study, study.run.name) for key, study in runs.items()}
        comparison = compare(study.run for study in runs.values())
    return make_sections(comparison, lambda run: runs[id(run.folder)])


def _identity(study: Study) -> tuple[object, ...]:
    return tuple(getattr(study.run.summary, label.name) for label in fields(Labels))


def _named(study: Study, variant: str) -> Study:
    summary = replace(study.run.summary, variant=variant)
    return replace(study, run=replace(study.run, summary=summary))


@dataclass(slots=True)
class _Sent:
    """What one page knows of a run."""

    state: tuple[int, int, str] = (-1, -1, "")  # generation, version and status
    steps: int = 0
    points: int = 0
    clients: int = 0


@dataclass(slots=True, eq=False)
class Feed:
    """The messages to one page; remembers what that page knows."""

    overview: Overview
    _sent: dict[int, _Sent] = field(default_factory=dict)
    _sections: int = -1

    def opening(self) -> str:
        """Return the first message: forget everything from an earlier connection."""
        return _message("start", {})

    def news(self) -> list[str]:
        """Return the messages that bring the page up to date."""
        with self.overview.lock:
            return list(self._news())

    def _news(self) -> Iterator[str]:
        runs = {run.number: run for run in self.overview.watched.runs.values()}
        for number in set(self._sent) - set(runs):
            del self._sent[number]
            yield _message("gone", number)
        for run in runs.values():
            yield from self._run_news(run)
        if self._sections != self.overview.version and self.overview.message:
            self._sections = self.overview.version
            yield self.overview.message

    def _run_news(self, run: WatchedRun) -> Iterator[str]:
        sent = self._sent.setdefault(run.number, _Sent())
        state = (run.generation, run.version, run.status)
        if sent.state == state:
            return
        if sent.state[0] != run.generation:
            sent = self._sent[run.number] = _Sent()
        sent.state = state
        total = len(run.trace.steps)
        while True:
            start = max(0, sent.steps - 1)  # the newest one may have been incomplete
            end = min(total, start + MOST_STEPS)
            yield _message("run", self._plain(run, sent, start, end))
            sent.steps = end
            if end == total:
                return

    def _plain(self, run: WatchedRun, sent: _Sent, start: int, end: int) -> dict[str, Any]:
        trace, place = run.trace, self.overview.places.get(id(run.folder), ("", -1))
        study = run.study()
        plain = bundle.run_plain(study, *place, run.number)
        plain |= {
            "status": run.status,
            "done": run.done,
            "steps_from": start,
            "steps": bundle.step_columns(trace.steps[start:end]),
            "curve_from": sent.points,
            "curve": bundle.curve_columns(study, start=sent.points),
        }
        sent.points = len(trace.evaluations)
        if sent.clients != len(trace.federation.ids):
            sent.clients = len(trace.federation.ids)
            plain["federation"] = asdict(trace.federation)
        return plain


def _message(event: str, plain: object) -> str:
    data = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    return f"event: {event}\ndata: {data}\n\n"
