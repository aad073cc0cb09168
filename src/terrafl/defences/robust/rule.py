"""Robust rules: a mean that a few attackers cannot decide.

A rule takes the place of the weighted mean, in front of any algorithm without client state and
behind any selector. Sizes are what clients say they are; the rules here ignore them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from terrafl.errors import ConfigurationError, require
from terrafl.records import Update, Vector


@runtime_checkable
class Aggregation(Protocol):
    r"""A rule that up to $f$ attackers among $n$ models cannot decide alone."""

    name: ClassVar[str]

    @property
    def attackers(self) -> int:
        r"""Attackers to be tolerated in one cohort, $f$."""
        ...

    @property
    def least_models(self) -> int:
        """Models that it takes to tolerate so many."""
        ...

    def mean(self, received: Vector, updates: Sequence[Update]) -> Vector:
        """Return the model that stands for the mean of at least :attr:`least_models` updates."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerant:
    r"""What the rules here share: they tolerate $f$ attackers among $2f + s$ models.

    Parameters
    ----------
    attackers
        To be tolerated in a cohort, $f$.
    """

    spare: ClassVar[int] = 1  # s

    attackers: int = 1

    def __post_init__(self) -> None:
        require(self.attackers >= 0, "attackers", self.attackers, "an integer of at least 0")

    @property
    def least_models(self) -> int:
        """Return $2f + s$."""
        return 2 * self.attackers + self.spare


def require_tolerable(aggregation: Aggregation, smallest_cohort: int, why: str) -> None:
    """Refuse a rule that a cohort is too small for.

    Parameters
    ----------
    aggregation
        The rule.
    smallest_cohort
        Clients in the smallest cohort that a run aims at.
    why
        What makes it so small.
    """
    if smallest_cohort < aggregation.least_models:
        crowd = f"{aggregation.attackers} attacker{'s' * (aggregation.attackers != 1)}"
        raise ConfigurationError(
            f"aggregation must have cohorts of at least {aggregation.least_models} clients for "
            f"{aggregation.name} to tolerate {crowd} in each; got cohorts of {smallest_cohort} "
            f"({why}): tolerate fewer, or keep cohorts larger."
        )
