"""What the guard remembers: recent sizes of updates and data sets, and who was retrained."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from terrafl.records import Floats


class Seen(NamedTuple):
    """One client in one round; the norm is missing where its update was hidden."""

    round: int
    norm: float | None
    num_examples: int


@dataclass(slots=True)
class Recent:
    """Everybody who answered the first request of one of the newest rounds.

    A round's first cohort is drawn before anybody has reported: a client gets into this memory
    by the draw alone, once a round, however it behaves.

    Parameters
    ----------
    rounds
        How many rounds back it reaches, this one included.
    """

    rounds: int
    rows: list[Seen] = field(default_factory=list)

    def add(self, rows: Sequence[Seen]) -> None:
        """Remember a first cohort and forget what is too old."""
        self.rows += rows
        newest = max((row.round for row in self.rows), default=0)
        self.rows = [row for row in self.rows if row.round > newest - self.rounds]

    def norms(self) -> Floats:
        """Return the norms of the updates that could be seen."""
        return np.array([row.norm for row in self.rows if row.norm is not None], dtype=np.float64)

    def median_norm(self) -> float:
        """Return the usual norm of an update; 0 before the first one."""
        norms = self.norms()
        return float(np.median(norms)) if norms.size else 0.0

    def median_size(self) -> float:
        """Return the usual number of examples; infinite before the first report."""
        return float(np.median([row.num_examples for row in self.rows])) if self.rows else np.inf


@dataclass(slots=True)
class Budget:
    """How often each client was retrained in the newest rounds that drew it.

    Parameters
    ----------
    draws
        How many draws of a client the window spans. Because it counts draws and not rounds, the
        bound on a client's share does not depend on how many clients there are.
    """

    draws: int
    used: dict[str, list[int]] = field(default_factory=dict)

    def open_draw(self, client_id: str) -> None:
        """Begin a draw of a client; one that was long not retrained is forgotten."""
        window = [*self.used.get(client_id, []), 0][-self.draws :]
        if any(window):
            self.used[client_id] = window
        else:
            self.used.pop(client_id, None)

    def retrained(self, client_id: str) -> None:
        """Count one more training in the round under way."""
        self.used.setdefault(client_id, [0])[-1] += 1

    def spent(self, client_id: str) -> int:
        """Return the retrainings in the window."""
        return sum(self.used.get(client_id, ()))
