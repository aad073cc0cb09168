"""Numbers and scores as text. A higher score is better, whatever the metric."""

from collections.abc import Sequence
from dataclasses import dataclass

from terrafl.reports.estimates import Difference, Estimate

DASH = "–"
"""Shown where a number is not available."""

Number = int | float | None

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "²": "$^2$",
    DASH: "--",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def as_mean_sd(mean: Number, sd: Number = None, decimals: int = 2) -> str:
    """Write a mean and its standard deviation.

    Examples
    --------
    >>> as_mean_sd(68.2349, 0.4149), as_mean_sd(-0.68, decimals=4), as_mean_sd(None)
    ('68.23 ± 0.41', '−0.6800', '–')
    """
    if mean is None:
        return DASH
    numbers = [mean] if sd is None else [mean, sd]
    return " ± ".join(f"{number:.{decimals}f}" for number in numbers).replace("-", "−")


def as_gap(mean: Number, low: Number, high: Number, *, decimals: int = 2) -> str:
    """Write a difference and its confidence interval.

    Examples
    --------
    >>> as_gap(-0.421, -1.1, 0.258), as_gap(-0.421, None, None), as_gap(None, None, None)
    ('−0.42 [−1.10, +0.26]', '−0.42', '–')
    """
    if mean is None:
        return DASH
    ends = () if low is None or high is None else (low, high)
    shown, *interval = [f"{number:+.{decimals}f}".replace("-", "−") for number in (mean, *ends)]
    return f"{shown} [{', '.join(interval)}]" if interval else shown


def as_count(value: Number) -> str:
    """Write a number of things, or a mean of such numbers.

    Examples
    --------
    >>> as_count(12400), as_count(612.0), as_count(612.25), as_count(None)
    ('12,400', '612', '612.2', '–')
    """
    if value is None:
        return DASH
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:,.1f}"


def as_megabytes(num_bytes: Number) -> str:
    """Write bytes in units of $10^6$.

    Examples
    --------
    >>> as_megabytes(1_234_567_890), as_megabytes(45_678)
    ('1,234.6', '0.0')
    """
    return DASH if num_bytes is None else f"{num_bytes / 1e6:,.1f}"


def listed(names: Sequence[str]) -> str:
    """Write names as a sentence does.

    Examples
    --------
    >>> listed(["Random"]), listed(["Random", "PoC", "Oort"])
    ('Random', 'Random, PoC and Oort')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def in_latex(text: str) -> str:
    r"""Escape a text for LaTeX.

    Examples
    --------
    >>> in_latex("53.84 ± 0.42 %"), in_latex("−0.43")
    ('53.84 $\\pm$ 0.42 \\%', '$-$0.43')
    """
    return "".join(_LATEX.get(character, character) for character in text)


def on_one_line(text: str) -> str:
    """Replace control characters: a table cell has no place for them, and XML cannot hold them."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


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
