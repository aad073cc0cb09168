"""What the page shows of each group of runs, and the settings that they share."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TypeVar

from terrafl.errors import RunFolderError
from terrafl.reports.collect import Run, Unreadable
from terrafl.reports.comparison import Comparison, Group
from terrafl.reports.trace import Fairness, Trace, fairness_of, read_trace
from terrafl.runs import RunFolder
from terrafl.runs.config_file import read_settings

Settings = dict[str, str]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of a group.

    Parameters
    ----------
    shared
        Settings that all methods have in common.
    differing
        For every method, by name, the settings in which it differs from another.
    """

    shared: Settings
    differing: dict[str, Settings]


def settings_of(folder: RunFolder) -> Settings:
    """Read a run's resolved configuration by dotted name; empty if it was not kept.

    The seed is left out: it differs between the runs of a method.
    """
    if not folder.config.exists():
        return {}
    settings = read_settings(folder.config)
    return {name: _shown(value) for name, value in settings.items() if name != "seed"}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def resolve_settings(by_method: Mapping[str, Sequence[Settings]]) -> Resolved:
    """Separate the settings that all methods of a group share from those that differ."""
    every = [settings for of_method in by_method.values() for settings in of_method]
    known = [settings for settings in every if settings]
    keys = dict.fromkeys(key for settings in known for key in settings)
    shared = {
        key: known[0][key]
        for key in keys
        if all(settings.get(key) == known[0].get(key) for settings in known)
    }
    differing = {}
    for name, of_method in by_method.items():
        first = next((settings for settings in of_method if settings), {})
        differing[name] = {key: value for key, value in first.items() if key not in shared}
    return Resolved(shared, differing)


LONGEST_SLUG = 80

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A run with everything in its folder.

    Parameters
    ----------
    run
        Its name and summary.
    trace, settings
        Its journal and configuration; empty if they are not there or cannot be read.
    unreadable
        The files that cannot be read.
    """

    run: Run
    trace: Trace
    settings: Settings
    unreadable: tuple[Unreadable, ...] = ()


def study(run: Run) -> Study:
    """Read the rest of a run's folder; a run without one has an empty trace."""
    folder = run.folder
    if folder is None:
        return Study(run, Trace(), {})
    unreadable: list[Unreadable] = []

    def read(reader: Callable[[RunFolder], Part], empty: Part) -> Part:
        try:
            return reader(folder)
        except RunFolderError as error:
            unreadable.append(Unreadable.of(run.name, folder.path, error))
            return empty

    trace, settings = read(read_trace, Trace()), read(settings_of, Settings())
    return Study(run, trace, settings, tuple(unreadable))


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One group on the page.

    Parameters
    ----------
    slug
        Names it in addresses and files.
    group
        The comparison.
    studies
        The runs of every method, in the order of the group's methods.
    """

    slug: str
    group: Group
    studies: tuple[tuple[Study, ...], ...]

    @property
    def every_study(self) -> list[Study]:
        """The runs of all methods."""
        return [study for of_method in self.studies for study in of_method]

    @property
    def fairness(self) -> list[Fairness]:
        """How evenly each method spread the work."""
        return [fairness_of([s.trace for s in of_method]) for of_method in self.studies]

    @property
    def resolved(self) -> Resolved:
        """The settings."""
        pairs = zip(self.group.methods, self.studies, strict=True)
        return resolve_settings({m.name: [s.settings for s in of] for m, of in pairs})

    @property
    def seconds(self) -> list[float | None]:
        """Mean seconds of selection and training of each method."""
        means = []
        for of_method in self.studies:
            totals = [seconds[-1] for s in of_method if (seconds := s.trace.seconds())]
            means.append(sum(totals) / len(totals) if totals else None)
        return means

    @property
    def refused(self) -> list[tuple[str, str, int, list[str]]]:
        """Method, reason, number of rejected reports and their clients, most common first."""
        rows = []
        for method, of_method in zip(self.group.methods, self.studies, strict=True):
            refused = [pair for study in of_method for pair in study.trace.refused]
            reasons = Counter(reason for reason, _ in refused)
            rows += [
                (method.name, reason, n, sorted({c for r, c in refused if r == reason}))
                for reason, n in reasons.most_common()
            ]
        return rows

    @property
    def has_journals(self) -> bool:
        """Whether anything is known beyond the summaries."""
        return any(study.trace.steps for study in self.every_study)


def make_sections(comparison: Comparison, studied: Callable[[Run], Study] = study) -> list[Section]:
    """Read the folders of a comparison's runs, group by group."""
    slugs = _slugs(
        f"{group.problem.name} {group.algorithm} {group.algorithm_variant}".rstrip()
        for group in comparison.groups
    )
    return [
        Section(slug, group, tuple(tuple(map(studied, method.runs)) for method in group.methods))
        for slug, group in zip(slugs, comparison.groups, strict=True)
    ]


def _slugs(titles: Iterable[str]) -> list[str]:
    """Return file names that are safe, short and all different."""
    slugs: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower())[:LONGEST_SLUG].strip("-") or "runs"
        candidates = chain([plain], (f"{plain}-{number}" for number in count(2)))
        slugs.append(next(slug for slug in candidates if slug not in slugs))
    return slugs
