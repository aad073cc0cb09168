"""The ways of reading a percentage from the runs of a method."""

from collections.abc import Callable
from dataclasses import dataclass

from terrafl.paper.table import Block
from terrafl.reports.comparison import Method


@dataclass(frozen=True, slots=True)
class Reading:
    """A percentage that is read from a method's runs, mean over seeds.

    Parameters
    ----------
    words
        When it is read.
    value
        The percentage; ``None`` if there is none.
    """

    words: str
    value: Callable[[Method], float | None]

    def by_method(self, block: Block) -> dict[str, float]:
        """Return the value of each of the paper's methods that has one."""
        return {
            line.label: value
            for line in block.contest
            if line.method and (value := self.value(line.method)) is not None
        }

    def leaders(self, block: Block) -> tuple[list[str], float]:
        """Return the best of the paper's methods, several if equal, and their value."""
        reached = self.by_method(block)
        top = max(reached.values())
        return [label for label, value in reached.items() if value == top], top


LAST_ROUND = Reading("after the last round", lambda method: method.last_round.percent)
LAST_TEN = Reading(
    "over the last ten evaluations", lambda method: method.costs.mean_last_ten_percent
)
EQUAL_UPDATES = Reading("at equal client updates", lambda method: method.equal_updates.percent)
EQUAL_SAMPLES = Reading("at equal samples", lambda method: method.equal_samples_percent)
READINGS = (LAST_ROUND, LAST_TEN, EQUAL_UPDATES, EQUAL_SAMPLES)
