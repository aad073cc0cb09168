"""Numbers as text."""

from collections.abc import Sequence

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
