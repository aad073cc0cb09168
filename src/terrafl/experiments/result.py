"""The result of a run in the Python API."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from terrafl.experiments.config import RunConfig
from terrafl.runs import Point, RunFolder, Summary
from terrafl.runs.temporary import TemporaryFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A finished run.

    Parameters
    ----------
    config
        Its configuration.
    summary
        Its outcome and costs.
    folder
        Its run folder.
    """

    config: RunConfig
    summary: Summary
    folder: RunFolder
    _temporary: TemporaryFolder | None = None  # deleted with the result

    @property
    def accuracy(self) -> float:
        """Accuracy, or the task's score, on the pooled test set after the last round."""
        return self.summary.accuracy

    @property
    def curve(self) -> tuple[Point, ...]:
        """Every evaluation: rounds, client updates, samples, accuracy."""
        return self.summary.curve

    def plot(self, path: Path | str | None = None) -> Figure:
        """Draw the score per round and per client update; save it if a path is given."""
        from terrafl.reports import plot_runs

        return plot_runs([self.folder.path], path)

    def __repr__(self) -> str:
        s = self.summary
        score = f"{s.accuracy:.2%}" if s.metric == "accuracy" else f"{s.accuracy:.4f}"
        return (
            f"Result({s.selector} with {s.algorithm} on {s.scenario or s.dataset}, seed {s.seed}: "
            f"{s.metric} {score} after {s.rounds} rounds, {s.client_updates} client updates)"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"
