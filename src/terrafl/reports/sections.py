"""What the page shows of each group of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, count

from terrafl.reports.collect import Run
from terrafl.reports.comparison import Comparison, Group
from terrafl.reports.fairness import Fairness, fairness_of
from terrafl.reports.looks import style_numbers
from terrafl.reports.names import algorithm_name
from terrafl.reports.resolved import Resolved, Settings, read_settings, resolve_settings
from terrafl.reports.trace import Trace, read_trace
from terrafl.reports.verdicts import verdict

__all__ = ["Section", "Study", "make_sections", "study", "title_of"]

LONGEST_SLUG = 80


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A run with all that its folder tells."""

    run: Run
    trace: Trace
    settings: Settings


def study(run: Run) -> Study:
    """Read the rest of a run's folder; a run without one has an empty trace."""
    if run.folder is None:
        return Study(run, Trace(), {})
    return Study(run, read_trace(run.folder), read_settings(run.folder))


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
    def title(self) -> str:
        """The heading."""
        return title_of(self.group)

    @property
    def verdict(self) -> str:
        """The group in words."""
        return verdict(self.group)

    @property
    def styles(self) -> list[int]:
        """The number of each method's colour and dash."""
        return style_numbers(self.group)

    @property
    def fairness(self) -> list[Fairness]:
        """How evenly each method spread the work."""
        return [fairness_of([s.trace for s in of_method]) for of_method in self.studies]

    @property
    def resolved(self) -> Resolved:
        """The settings."""
        pairs = zip(self.group.methods, self.studies, strict=True)
        return resolve_settings({m.name: [s.settings for s in found] for m, found in pairs})

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
        """Method, reason, number of refused reports and whose, most common first."""
        rows = []
        for method, of_method in zip(self.group.methods, self.studies, strict=True):
            all_of = [r for s in of_method for r in s.trace.refused]
            reasons = Counter(r.reason for r in all_of)
            rows += [
                (method.name, reason, n, sorted({r.client for r in all_of if r.reason == reason}))
                for reason, n in reasons.most_common()
            ]
        return rows

    @property
    def has_journals(self) -> bool:
        """Whether anything is known beyond the summaries."""
        return any(s.trace.steps for of_method in self.studies for s in of_method)


def make_sections(comparison: Comparison, studied: Callable[[Run], Study] = study) -> list[Section]:
    """Read what the runs of a comparison left behind, group by group."""
    slugs = _slugs(f"{group.problem.name} {group.algorithm}" for group in comparison.groups)
    return [
        Section(
            slug,
            group,
            tuple(tuple(studied(run) for run in method.runs) for method in group.methods),
        )
        for slug, group in zip(slugs, comparison.groups, strict=True)
    ]


def title_of(group: Group) -> str:
    """Return a group's heading."""
    return f"{group.problem.name}, {algorithm_name(group.algorithm)}"


def _slugs(titles: Iterable[str]) -> list[str]:
    """Return file names that are safe, short and all different."""
    slugs: list[str] = []
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower())[:LONGEST_SLUG].strip("-") or "runs"
        candidates = chain([plain], (f"{plain}-{number}" for number in count(2)))
        slugs.append(next(slug for slug in candidates if slug not in slugs))
    return slugs
