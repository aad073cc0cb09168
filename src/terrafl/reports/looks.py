"""How figures look: colours and dashes, and one style whatever the reader's settings."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can distinguish, without its yellow, which
# is invisible on white. The method of the paper gets the strongest colour, vermillion.
COLOURS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
# Lengths without a common divisor: colour, dash and marker never repeat together.
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "h", "P", "X")
INK, FAINT = "#333333", "#8a8a8a"

# What a format would otherwise say about the hour and the program that made the file.
UNSAID: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def colour(style: int) -> str:
    """Return the colour of a look."""
    return COLOURS[style % len(COLOURS)]


def line_look(style: int) -> dict[str, Any]:  # Any: what matplotlib takes
    """Return the colour, dash and marker of a line."""
    dash, marker = DASHES[style % len(DASHES)], MARKERS[style % len(MARKERS)]
    return {"color": colour(style), "linestyle": dash, "marker": marker}


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
                "axes.titlelocation": "left",
                "axes.titlesize": 10,
                "figure.labelsize": 9.5,
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


def new_grid(
    num_panels: int, row_height: float, *, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure of three panels in a row, and as many panels as are used."""
    rows = math.ceil(num_panels / 3)
    figure = new_figure(10, row_height * rows)
    panels = list(figure.subplots(rows, 3, sharex=share, sharey=share, squeeze=False).flat)
    for panel in panels[num_panels:]:
        panel.set_axis_off()
    return figure, panels[:num_panels]


def save(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file of a kind."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150, metadata=dict(UNSAID[kind]))
    return buffer.getvalue()
