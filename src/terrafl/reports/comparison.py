"""The arithmetic of a comparison: which method leads, by how much, and at what cost.

A group holds the runs that may be compared: one problem, one algorithm. Each method in it is
scored twice. *After the last round* is how papers report; *at equal client updates* is how a
budget counts: with $B$ the smallest total of client updates of any run in the group, each run is
judged by its last evaluation at or below $B$. Where clients differ in size, an update of one is not
an update of another: accuracy *at equal samples* is read in the same way. Nothing is drawn or
formatted here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Literal

from terrafl.errors import RunFolderError
from terrafl.reports.collect import Run, Unreadable, find_runs
from terrafl.reports.estimates import Score, score_methods
from terrafl.reports.formats import Metric, metric_named
from terrafl.reports.names import SELECTORS, algorithm_name, method_name, method_order
from terrafl.runs import Summary

Unit = Literal["client_updates", "samples"]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """What was to be learnt; ``scenario`` and ``profile`` may be empty."""

    scenario: str
    dataset: str
    model: str
    profile: str
    experiment: str = ""  # digest of the settings that runs must share to be compared
    metric: str = "accuracy"  # the score that is called accuracy in rows and summaries

    @property
    def name(self) -> str:
        """The scenario, or the data set where there is none."""
        return self.scenario or self.dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Means over the seeds of a method, named as in the summary; accuracy in percent."""

    rounds: float
    client_updates: float
    samples_trained: float
    loss_queries: float
    bytes_down: float
    bytes_up: float
    reports_refused: float
    accuracy_participating_percent: float
    mean_last_ten_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A selector with its settings, and what its runs show.

    Parameters
    ----------
    selector, variant
        Which method.
    runs
        One per seed, in order of seed.
    last_round
        Accuracy after the last round.
    equal_updates
        Accuracy at the last evaluation at or below the group's budget of client updates.
    equal_samples_percent
        Mean accuracy at the last evaluation at or below the group's budget of samples; ``None``
        where no run was evaluated by then.
    costs
        What it took.
    contends
        Whether it is ranked; else it is compared with the best of those that are.
    label
        What a table calls it; empty where the name that follows from its settings will do.
    """

    selector: str
    variant: str
    runs: tuple[Run, ...]
    last_round: Score
    equal_updates: Score
    equal_samples_percent: float | None
    costs: Costs
    contends: bool = True
    label: str = ""

    @property
    def name(self) -> str:
        """The display name."""
        return self.label or method_name(self.selector, self.variant)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds it was run with."""
        return tuple(run.summary.seed for run in self.runs)


@dataclass(frozen=True, slots=True)
class Group:
    """Methods that can be compared: one problem, one algorithm.

    Parameters
    ----------
    problem, algorithm
        What they have in common.
    budget
        Smallest total of client updates of any run that contends, $B$.
    sample_budget
        Smallest total of samples trained.
    methods
        In the paper's order.
    algorithm_variant
        The algorithm's settings that differ from its defaults.
    """

    problem: Problem
    algorithm: str
    budget: int
    sample_budget: int
    methods: tuple[Method, ...]
    algorithm_variant: str = ""

    @property
    def title(self) -> str:
        """The heading: the problem and the algorithm."""
        return f"{self.problem.name}, {algorithm_name(self.algorithm, self.algorithm_variant)}"

    @property
    def metric(self) -> Metric:
        """How its scores are named and written."""
        return metric_named(self.problem.metric)

    @property
    def styles(self) -> list[int]:
        """The number of the look of each method.

        A method of the paper looks the same everywhere; others take the next free looks.
        """
        fixed, others = list(SELECTORS), count(len(SELECTORS))
        return [
            fixed.index(method.selector)
            if method.selector in SELECTORS and not method.variant
            else next(others)
            for method in self.methods
        ]

    @property
    def contenders(self) -> tuple[Method, ...]:
        """The methods that are ranked."""
        return tuple(method for method in self.methods if method.contends)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All runs, group by group, and the run folders that cannot be read."""

    groups: tuple[Group, ...]
    unreadable: tuple[Unreadable, ...] = ()


def compare_runs(paths: Sequence[Path]) -> Comparison:
    """Compare the finished runs in and below these folders.

    A run that cannot be read is left out and listed.
    """
    runs, unreadable = find_runs(paths)
    return replace(compare(runs), unreadable=tuple(unreadable))


def compare(runs: Iterable[Run], outside: Collection[tuple[str, str]] = ()) -> Comparison:
    """Compare runs, each with the runs of the same problem and algorithm.

    Parameters
    ----------
    runs
        What was run.
    outside
        Selector and variant of methods that are compared with the best and not ranked.
    """
    groups: dict[tuple[Problem, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        s = run.summary
        problem = Problem(s.scenario, s.dataset, s.model, s.profile, s.experiment, s.metric)
        groups[problem, s.algorithm, s.algorithm_variant].append(run)
    ordered = sorted(
        groups, key=lambda key: (key[0].name, key[0].dataset, key[0].model, key[1:], key)
    )
    return Comparison(tuple(_group(*key, groups[key], outside) for key in ordered))


def accuracy_at(summary: Summary, budget: int, unit: Unit = "client_updates") -> float | None:
    """Return accuracy, in percent, at the last evaluation at or below a budget.

    Notes
    -----
    Nothing is interpolated: the number is that of a model that existed. A method that trains
    many clients between two evaluations is read up to that many updates before the budget.
    """
    seen = [point for point in summary.curve if getattr(point, unit) <= budget]
    return 100 * seen[-1].accuracy if seen else None


def _group(
    problem: Problem,
    algorithm: str,
    algorithm_variant: str,
    runs: Sequence[Run],
    outside: Collection[tuple[str, str]],
) -> Group:
    by_method: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        by_method[run.summary.selector, run.summary.variant].append(run)
    keys = sorted(by_method, key=lambda key: method_order(*key))
    cohorts = [_one_per_seed(by_method[key]) for key in keys]
    aside = {i for i, key in enumerate(keys) if key in outside}
    ranked = [cohort for i, cohort in enumerate(cohorts) if i not in aside] or cohorts
    budget = min(run.summary.client_updates for cohort in ranked for run in cohort)
    sample_budget = min(run.summary.samples_trained for cohort in ranked for run in cohort)
    last_round = score_methods(
        [{r.summary.seed: 100 * r.summary.accuracy for r in cohort} for cohort in cohorts], aside
    )
    equal_updates = score_methods(
        [_at_budget(cohort, budget, "client_updates") for cohort in cohorts], aside
    )
    at_samples = [_at_budget(cohort, sample_budget, "samples").values() for cohort in cohorts]
    methods = tuple(
        Method(
            selector=selector,
            variant=variant,
            runs=cohort,
            last_round=last,
            equal_updates=equal,
            equal_samples_percent=fmean(samples) if samples else None,
            costs=_costs([run.summary for run in cohort]),
            contends=(selector, variant) not in outside,
        )
        for (selector, variant), cohort, last, equal, samples in zip(
            keys, cohorts, last_round, equal_updates, at_samples, strict=True
        )
    )
    return Group(problem, algorithm, budget, sample_budget, methods, algorithm_variant)


def _one_per_seed(runs: Sequence[Run]) -> tuple[Run, ...]:
    by_seed: dict[int, Run] = {}
    for run in runs:
        first = by_seed.setdefault(run.summary.seed, run)
        if first.summary != run.summary:  # an equal one is a copy, which proves nothing new
            raise RunFolderError(
                f"a comparison takes one result per method and seed; {first.name} and {run.name} "
                f"differ in theirs for {run.summary.selector}, seed {run.summary.seed}: "
                f"report them separately."
            )
    return tuple(by_seed[seed] for seed in sorted(by_seed))


def _at_budget(runs: Iterable[Run], budget: int, unit: Unit) -> dict[int, float]:
    read = {run.summary.seed: accuracy_at(run.summary, budget, unit) for run in runs}
    return {seed: accuracy for seed, accuracy in read.items() if accuracy is not None}


def _costs(summaries: Sequence[Summary]) -> Costs:
    means = {}
    for name in (field.name for field in fields(Costs)):
        mean = fmean(getattr(summary, name.removesuffix("_percent")) for summary in summaries)
        means[name] = 100 * mean if name.endswith("_percent") else mean
    return Costs(**means)
