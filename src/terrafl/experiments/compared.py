"""The result of a comparison in the Python API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from terrafl import reports
from terrafl.reports.formats import listed
from terrafl.runs.temporary import TemporaryFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A tidy table: one row per method, as plain values.

    ``pandas.DataFrame(compared)`` works, and so does a loop.

    Parameters
    ----------
    folders
        The runs.
    comparison
        Their means and intervals.
    """

    folders: tuple[Path, ...]
    comparison: reports.Comparison
    _temporary: TemporaryFolder | None = None

    @classmethod
    def read(cls, folders: Sequence[Path], temporary: TemporaryFolder | None = None) -> Compared:
        """Compare finished runs."""
        return cls(tuple(folders), reports.compare_runs(folders), temporary)

    @property
    def rows(self) -> list[reports.Row]:
        """The table."""
        return reports.rows(self.comparison)

    def __iter__(self) -> Iterator[reports.Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> reports.Row:
        return self.rows[index]

    def plot(self, path: Path | str | None = None) -> Figure:
        """Draw the score per round and per client update; save it if a path is given."""
        return reports.plot_runs(self.folders, path)

    def report(
        self,
        out: Path | str,
        *,
        on_section: Callable[[int, int], None] = lambda done, total: None,
    ) -> Path:
        """Write the report into a folder; return the page.

        Parameters
        ----------
        out
            The folder.
        on_section
            Called with the number of sections drawn, and of all sections.
        """
        return reports.write_report(self.folders, Path(out), on_section=on_section)

    def __repr__(self) -> str:
        groups = [
            f"{group.title}: "
            + ", ".join(f"{method.name} {_score(group, method)}" for method in group.methods)
            for group in self.comparison.groups
        ]
        names = dict.fromkeys(group.metric.name for group in self.comparison.groups)
        return f"Compared({'; '.join(groups)}; mean {listed([*names])} after the last round)"

    def _repr_html_(self) -> str:
        return reports.html_table(self.comparison)


def _score(group: reports.Group, method: reports.Method) -> str:
    estimate = method.last_round.estimate
    return group.metric.in_words(estimate.mean) if estimate else "unknown"
