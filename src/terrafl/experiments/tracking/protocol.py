"""What a place that shows runs must be able to hear."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from terrafl.reports.looks import Pictures

__all__ = ["MakeTracker", "Parameter", "Tracker"]

Parameter = str | int | float | bool


class Tracker(Protocol):
    """One run, as another program shows it.

    A resumed run is told from its first round again, to a tracker made anew: whoever remembers
    an earlier telling forgets it when it is made.
    """

    def start(self, parameters: Mapping[str, Parameter]) -> None:
        """Hear the settings, by dotted name, before anything else."""
        ...

    def measure(self, step: int, values: Mapping[str, float], *, at: float) -> None:
        """Hear what one round gave: rounds completed, numbers by name, seconds since 1970."""
        ...

    def finish(self, values: Mapping[str, float], figures: Mapping[str, Pictures]) -> None:
        """Hear what came out of the whole run, with the report's figures of it.

        An interrupted run has no such call.
        """
        ...

    def close(self) -> None:
        """Write down what was heard; always the last call."""
        ...


MakeTracker = Callable[[Path], Tracker]
"""Make a tracker for the run in a folder."""
