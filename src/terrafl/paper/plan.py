"""The runs that a table needs: profiles of seeds and rounds, and the cells that they fill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path, PurePosixPath

from terrafl.errors import ConfigurationError, require_known
from terrafl.experiments.api import configure
from terrafl.experiments.config import RunConfig
from terrafl.experiments.sweep import Cell
from terrafl.paper.catalog import Column, Row, Table
from terrafl.reports.names import algorithm_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Seeds and rounds.

    Parameters
    ----------
    name
        Its name in configurations and summaries.
    seeds
        One run each.
    rounds
        Rounds by data set; a data set without an entry runs the scenario's rounds.
    all_rounds
        Rounds on every data set, if given.
    """

    name: str
    seeds: tuple[int, ...]
    rounds: Mapping[str, int] = field(default_factory=dict)
    all_rounds: int | None = None


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="paper", seeds=(0, 1, 2)),
        Profile(
            name="laptop",
            seeds=(0,),
            rounds={
                "fmnist": 60,
                "cifar10": 100,
                "cifar100": 100,
                "tiny-imagenet": 100,
                "femnist": 20,
                "unipen62": 20,
                "har": 50,
            },
        ),
        Profile(name="smoke", seeds=(0,), all_rounds=2),
    )
}

SHOWN = ("paper", "laptop")
"""Profiles that tables show; the two rounds of ``smoke`` only test that a scenario runs."""


def profile_named(name: str) -> Profile:
    """Return a profile by its name."""
    require_known(name, PROFILES, "the profile must be one of")
    return PROFILES[name]


ScenarioMethod = tuple[str, str, str]
"""Scenario, selector and variant: what a round's time depends on most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One run of a table.

    Parameters
    ----------
    column, row
        Its place in the table.
    config
        Its configuration.
    place
        Its folder, relative to the folder of runs or of results.
    """

    column: Column
    row: Row
    config: RunConfig
    place: PurePosixPath

    @property
    def words(self) -> dict[str, frozenset[str]]:
        """The words that select it on the command line, by kind."""
        return {
            "column": frozenset({self.column.scenario, self.column.label}),
            "algorithm": frozenset({self.algorithm, algorithm_name(self.algorithm)}),
            "method": frozenset({type(self.config.selector).name, self.row.label}),
            "seed": frozenset({f"seed{self.config.seed}"}),
        }

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return type(self.config.algorithm).name

    @property
    def method(self) -> tuple[str, str]:
        """Selector and variant, as its summary names them."""
        return type(self.config.selector).name, self.config.variant

    @property
    def scenario_method(self) -> ScenarioMethod:
        """The scenario and the method."""
        return self.column.scenario, *self.method

    def under(self, runs: Path) -> Cell:
        """Return it as a cell of a sweep with its folder below ``runs``."""
        return Cell(runs / self.place, self.config)


def plan(table: Table, profile: Profile) -> list[Planned]:
    """Return a table's runs: column by column, each seed by seed."""
    kind = f"{profile.name}-alone" if table.alone else profile.name
    planned = []
    for column in table.columns:
        scenario = column.scenario
        rounds = profile.all_rounds or profile.rounds.get(configure(scenario=scenario).dataset)
        for seed, algorithm, row in product(profile.seeds, table.algorithms, table.rows):
            config = configure(
                scenario=scenario,
                selector=row.selector,
                algorithm=algorithm,
                seed=seed,
                rounds=rounds,
                settings={"profile": profile.name},
            )
            place = PurePosixPath(kind, scenario, config.run_name)
            planned.append(Planned(column=column, row=row, config=config, place=place))
    return planned


def chosen(planned: Sequence[Planned], only: Sequence[str]) -> list[Planned]:
    """Return the runs that match at least one word of every kind of word given.

    ``cifar100``, ``FedAvg``, ``terraform``, ``Anchored Terraform`` and ``seed0`` are words.
    """
    wanted: dict[str, set[str]] = {}
    for word in only:
        kinds = {kind for p in planned for kind, known in p.words.items() if word in known}
        if not kinds:
            known = sorted({word for p in planned for words in p.words.values() for word in words})
            raise ConfigurationError(
                f"--only must be one of {', '.join(known)}; no run matches {word!r}."
            )
        for kind in kinds:
            wanted.setdefault(kind, set()).add(word)
    return [p for p in planned if all(p.words[kind] & words for kind, words in wanted.items())]
