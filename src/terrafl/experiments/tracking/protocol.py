"""The tracker interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from terrafl.reports.looks import Pictures

Parameter = str | int | float | bool


class Tracker(Protocol):
    """Shows one run in another program.

    A resumed run gets a new tracker, which receives all rounds from the first on. A tracker
    that keeps data must delete that of an earlier one when it is made.
    """

    def start(self, parameters: Mapping[str, Parameter]) -> None:
        """Receive the settings by dotted name; always the first call."""
        ...

    def measure(self, step: int, values: Mapping[str, float], *, at: float) -> None:
        """Receive one round: rounds completed, numbers by name, seconds since 1970."""
        ...

    def finish(self, values: Mapping[str, float], figures: Mapping[str, Pictures]) -> None:
        """Receive the results of the finished run and the figures of its report.

        An interrupted run has no such call.
        """
        ...

    def close(self) -> None:
        """Write everything to disk; always the last call."""
        ...


MakeTracker = Callable[[Path], Tracker]
"""Make a tracker for the run in a folder."""
