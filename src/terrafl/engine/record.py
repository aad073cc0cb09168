"""Writing a run down as it goes: journal, timings, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from terrafl.algorithms import Algorithm
from terrafl.engine.state import RunState
from terrafl.guard import Guard
from terrafl.runs import Journal, RunFolder
from terrafl.runs.checkpoint import load_newest, save
from terrafl.selection import Selector

__all__ = ["Record"]


@dataclass(slots=True)
class Record:
    """The written trace of one run.

    Parameters
    ----------
    folder
        Where; held by this process.
    checkpoint_every_s
        Least seconds between two checkpoints. With 0 a crash loses at most the iteration under
        way; above, at most that many seconds more.
    """

    folder: RunFolder
    checkpoint_every_s: float = 1.0
    _files: list[Journal] = field(default_factory=list, init=False)
    _number: int = field(default=0, init=False)
    _last: float = field(default=0.0, init=False)

    def open(
        self,
        selector: Selector,
        algorithm: Algorithm,
        fresh: Callable[[], RunState],
        guard: Guard | None = None,
    ) -> RunState:
        """Return the state to go on from: the newest checkpoint's, or a fresh one."""
        checkpoint = load_newest(self.folder.checkpoints)
        timings = self.folder.timings
        covered = checkpoint.values["journal_bytes"] if checkpoint else 0
        self._files = [
            Journal(self.folder.journal, keep=covered),
            Journal(timings, keep=timings.stat().st_size if timings.exists() else 0),
        ]
        if checkpoint is None:
            return fresh()
        self._number = checkpoint.values["number"]
        return RunState.from_checkpoint(checkpoint, selector, algorithm, guard)

    def note(self, event: Mapping[str, object]) -> None:
        """Add an event to the journal."""
        self._files[0].append(event)

    def time(self, event: Mapping[str, object]) -> None:
        """Add an entry to what may differ between equal runs."""
        self._files[1].append(event)

    def checkpoint(
        self,
        state: RunState,
        selector: Selector,
        algorithm: Algorithm,
        guard: Guard | None = None,
    ) -> None:
        """Save the state, unless the last checkpoint is recent enough."""
        now = time.monotonic()
        if now - self._last < self.checkpoint_every_s:
            return
        self._number += 1
        checkpoint = state.to_checkpoint(
            selector,
            algorithm,
            guard,
            number=self._number,
            journal_bytes=self._files[0].sync(),
        )
        save(self.folder.checkpoints, self._number, checkpoint)
        self._last = now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files:
            file.close()
