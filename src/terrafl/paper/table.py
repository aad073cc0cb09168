"""A table of the paper, filled with its numbers and ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from terrafl.reports.comparison import Group, Method
from terrafl.reports.names import algorithm_name

Gain = tuple[str, float]
"""The best method, and its gain over the second in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A method in one column.

    Parameters
    ----------
    label
        Its label in the table.
    printed
        Accuracy in the paper, in percent; ``None`` if it prints none.
    method
        Our runs; ``None`` if there are none.
    train_s
        Mean seconds of training and client selection, in a table of times.
    beyond_paper
        Whether the method is ours and not the paper's.
    """

    label: str
    printed: float | None
    method: Method | None
    train_s: float | None = None
    beyond_paper: bool = False

    @property
    def ours(self) -> float | None:
        """Our accuracy after the last round, in percent, mean over seeds."""
        return self.method.last_round.percent if self.method else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One column of the table under one algorithm.

    Parameters
    ----------
    label, scenario, algorithm
        Its label in the table, its scenario and its algorithm.
    profile
        The profile of our runs; empty if nothing was run.
    full_rounds
        Rounds of the scenario.
    group
        Our runs; ``None`` if there are none.
    lines
        One per method, in the table's order.
    """

    label: str
    scenario: str
    algorithm: str
    profile: str
    full_rounds: int
    group: Group | None
    lines: tuple[Line, ...]

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return f"{self.label}, {algorithm_name(self.algorithm)}"

    @property
    def heading(self) -> str:
        """Its heading in a table of all columns: the label and the profile."""
        return f"{self.label} [{self.profile}]" if self.profile else self.label

    @property
    def contest(self) -> tuple[Line, ...]:
        """The paper's methods."""
        return tuple(line for line in self.lines if not line.beyond_paper)

    @property
    def is_decided(self) -> bool:
        """Whether all of the paper's methods were run, so that they can be ranked."""
        return all(line.method is not None for line in self.contest)

    @property
    def is_compared(self) -> bool:
        """Whether more than one method was run."""
        return sum(line.method is not None for line in self.lines) > 1

    @property
    def gains(self) -> tuple[Gain | None, Gain | None]:
        """The gain of the best of the paper's methods over the second: in the paper, and ours."""
        ours = relative_gain(self.contest, lambda line: line.ours) if self.is_decided else None
        return relative_gain(self.contest, lambda line: line.printed), ours

    @property
    def num_seeds(self) -> int:
        """The most seeds that one of the paper's methods was run with."""
        return max((len(line.method.seeds) for line in self.contest if line.method), default=0)

    def line(self, label: str) -> Line:
        """Return a method's line."""
        return next(line for line in self.lines if line.label == label)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table or figure of the paper.

    Parameters
    ----------
    name, title
        Its name on the command line, and its title.
    blocks
        Its columns under every algorithm, one algorithm after the other.
    timed
        Whether its cells are seconds of training; else they are accuracies.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]
    timed: bool = False

    @property
    def by_algorithm(self) -> dict[str, list[Block]]:
        """Its columns under each algorithm."""
        grouped = groupby(self.blocks, key=attrgetter("algorithm"))
        return {algorithm: list(blocks) for algorithm, blocks in grouped}

    def figure_name(self, block: Block) -> str:
        """Return the file name of a column's figure, without its suffix."""
        return f"{self.name}-{block.scenario}-{block.algorithm}"


def relative_gain(lines: Sequence[Line], value: Callable[[Line], float | None]) -> Gain | None:
    """Return the best, and its gain over the second in percent of the second.

    The paper computes gains this way: 24.22 over 16.43 is 47 % more.

    Examples
    --------
    >>> lines = [Line(label=l, printed=p, method=None) for l, p in [("a", 16.43), ("b", 24.22)]]
    >>> best, gain = relative_gain(lines, lambda line: line.printed)
    >>> best, round(gain, 2)
    ('b', 47.41)
    """
    scored = [(v, line.label) for line in lines if (v := value(line)) is not None]
    if len(scored) < 2:
        return None
    (first, best), (second, _) = sorted(scored, key=lambda pair: -pair[0])[:2]
    return (best, 100 * (first / second - 1)) if second else None
