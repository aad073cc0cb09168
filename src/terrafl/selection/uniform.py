"""Random: clients drawn uniformly without replacement, averaged by size (FedAvg).

References
----------
McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
AISTATS 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from terrafl.selection.protocol import Averaging, Cohort, Context, State
from terrafl.selection.report import Need, Report

__all__ = ["Random"]


@dataclass(slots=True, kw_only=True)
class Random:
    """Draw $K$ clients, each equally likely; average them by their number of examples."""

    name: ClassVar[str] = "random"
    draws_with_replacement: ClassVar[bool] = False
    averaging: ClassVar[Averaging] = "size"

    @property
    def needs(self) -> frozenset[Need]:
        """Nothing beyond sizes."""
        return frozenset()

    def draw(self, context: Context) -> Cohort:
        """Draw the cohort of the round."""
        return Cohort.of(context.population.names(context.draw_uniformly()))

    def refine(self, reports: Sequence[Report]) -> Cohort:
        """End the round: there is one iteration."""
        return Cohort()

    def state(self) -> State:
        """Remember nothing."""
        return {}

    def restore(self, state: State) -> None:
        """Take up nothing."""
