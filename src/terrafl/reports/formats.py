"""Numbers as text."""

from __future__ import annotations

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
    DASH: "--",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def as_mean_sd(mean: Number, sd: Number = None) -> str:
    """Write a mean and its standard deviation.

    Examples
    --------
    >>> as_mean_sd(68.2349, 0.4149), as_mean_sd(68.2349), as_mean_sd(None)
    ('68.23 ± 0.41', '68.23', '–')
    """
    if mean is None:
        return DASH
    return f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f}"


def as_gap(mean: Number, low: Number, high: Number) -> str:
    """Write a difference and its confidence interval.

    Examples
    --------
    >>> as_gap(-0.421, -1.1, 0.258), as_gap(-0.421, None, None), as_gap(None, None, None)
    ('−0.42 [−1.10, +0.26]', '−0.42', '–')
    """
    if mean is None:
        return DASH
    if low is None or high is None:
        return _signed(mean)
    return f"{_signed(mean)} [{_signed(low)}, {_signed(high)}]"


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


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
