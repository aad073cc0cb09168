"""How the score of a task is named and written. A higher score is better, whatever the metric."""

from dataclasses import dataclass

from terrafl.reports.estimates import Difference, Estimate
from terrafl.reports.formats import Number, as_gap, as_mean_sd, on_one_line


@dataclass(frozen=True, slots=True)
class Metric:
    """A score as a reader sees it.

    Accuracy is written in percent. Every other score is a plain number with two more decimals, so
    both show the same digits. Methods that take percent divide by 100 for a plain number.

    Parameters
    ----------
    name
        What a sentence calls it.
    is_percent
        Whether it is written in percent.
    """

    name: str
    is_percent: bool = False

    @property
    def title(self) -> str:
        """The name with a capital letter."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def bracket(self) -> str:
        """What follows a name in a heading: the unit, where there is one."""
        return " (%)" if self.is_percent else ""

    @property
    def unit(self) -> str:
        """What a column of numbers is in: percent, or the score itself."""
        return "%" if self.is_percent else self.name

    @property
    def scale(self) -> int:
        """What a stored score is multiplied with in a chart."""
        return 100 if self.is_percent else 1

    @property
    def decimals(self) -> int:
        """How many a table shows."""
        return 2 if self.is_percent else 4

    def mean(self, estimate: Estimate | None) -> str:
        """Write a mean over seeds with its standard deviation, both given in percent."""
        return self.number(estimate.mean, estimate.sd) if estimate else self.number(None)

    def number(self, percent: Number, sd: Number = None) -> str:
        """Write a number given in percent, with its standard deviation if there is one."""
        return as_mean_sd(self._shown(percent), self._shown(sd), self.decimals)

    def gap(self, gap: Difference | None) -> str:
        """Write a difference in percentage points with its 95 % interval."""
        ends = (gap.mean, gap.low, gap.high) if gap else (None, None, None)
        return as_gap(*map(self._shown, ends), decimals=self.decimals)

    def in_words(self, percent: float) -> str:
        """Write a number given in percent for a sentence.

        Examples
        --------
        >>> ACCURACY.in_words(68.23), metric_named("r2").in_words(68.23)
        ('68.2 %', 'R² 0.682')
        """
        return f"{percent:.1f} %" if self.is_percent else f"{self.name} {percent / 100:.3f}"

    def in_short(self, score: float, decimals: int = 1) -> str:
        """Write a stored score for a line of a terminal.

        Examples
        --------
        >>> ACCURACY.in_short(0.6823), metric_named("r2").in_short(0.6823)
        ('68.2%', 'R² 0.682')
        """
        if self.is_percent:
            return f"{score:.{decimals}%}"
        return f"{self.name} {score:.{decimals + 2}f}"

    def _shown(self, percent: Number) -> Number:
        return percent if percent is None or self.is_percent else percent / 100


ACCURACY = Metric("accuracy", is_percent=True)
_KNOWN = {"accuracy": ACCURACY, "r2": Metric("R²")}


def metric_named(name: str) -> Metric:
    """Return how the score of a summary's ``metric`` is written."""
    return _KNOWN.get(name) or Metric(on_one_line(name))
