"""How figures look: colours and dashes, and one style whatever the reader's settings."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from terrafl.reports.comparison import Group
from terrafl.reports.names import SELECTORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can distinguish, without its yellow, which
# is invisible on white. The method of the paper gets the strongest colour, vermillion.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
# Lengths without a common divisor: colour, dash and marker never repeat together.
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)), (0, (8, 2)))
INK, FAINT = "#333333", "#8a8a8a"

# What a format would otherwise say about the hour and the program that made the file.
UNSAID: Mapping[str, Mapping[str, None]] = MappingProxyType(
    {
        "svg": {"Date": None, "Creator": None},
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
)


@dataclass(frozen=True, slots=True)
class Pictures:
    """One figure in two formats; equal groups give equal bytes."""

    svg: bytes
    png: bytes

    @classmethod
    def of(cls, figure: Figure) -> Pictures:
        """Save a figure in both formats, laid out once."""
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        return cls(svg=save(figure, "svg"), png=save(figure, "png"))


@contextmanager
def own_style() -> Iterator[None]:
    """Draw in one style; the matplotlib settings of the user have no effect and do not change."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "axes.edgecolor": FAINT,
                "axes.labelcolor": INK,
                "axes.spines.right": False,
                "axes.spines.top": False,
                "font.size": 9.5,
                "svg.hashsalt": "terrafl",
                "text.color": INK,
                "text.parse_math": False,  # a dollar sign in a name is a dollar sign
                "xtick.color": INK,
                "ytick.color": INK,
            }
        )
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file of a kind."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150, metadata=dict(UNSAID[kind]))
    return buffer.getvalue()


def style_numbers(group: Group) -> list[int]:
    """Return the number of the look of each method of a group.

    A method of the paper looks the same in every figure; other methods take the next free looks.
    """
    fixed, others = list(SELECTORS), count(len(SELECTORS))
    return [
        fixed.index(method.selector)
        if method.selector in SELECTORS and not method.variant
        else next(others)
        for method in group.methods
    ]
