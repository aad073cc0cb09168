"""Random: clients drawn uniformly without replacement, averaged by size (FedAvg).

References
----------
McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data",
AISTATS 2017.
"""

from dataclasses import dataclass
from typing import ClassVar

from terrafl.records import Cohort
from terrafl.selection.protocol import Context, Selector


@dataclass(slots=True, kw_only=True)
class Random(Selector):
    """Draw $K$ clients, each equally likely; average them by their number of examples."""

    name: ClassVar[str] = "random"

    def draw(self, context: Context) -> Cohort:
        """Draw the cohort of the round."""
        return Cohort.of(context.population.names(context.draw_uniformly()))
