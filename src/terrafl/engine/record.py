"""Writing a run down as it goes: journal, timings, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from terrafl.algorithms import Algorithm
from terrafl.engine.state import RunState
from terrafl.errors import RunFolderError
from terrafl.guard import Guard
from terrafl.runs import Journal, RunFolder
from terrafl.runs.checkpoint import Checkpoint, save
from terrafl.runs.journal import whole_lines
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
    start
        The checkpoint to go on from, see :func:`terrafl.runs.recovery.recover`; ``None`` to
        begin.
    conditions
        What the result depends on, kept with every checkpoint.
    """

    folder: RunFolder
    checkpoint_every_s: float = 1.0
    start: Checkpoint | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
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
        """Return the state to go on from: the checkpoint's, or a fresh one."""
        start, folder, state = self.start, self.folder, None
        if start is not None:
            state = _restored(start, selector, algorithm, guard, folder)
            self._number = start.values["number"]
        with folder.writing():
            covered = 0 if start is None else start.values["journal_bytes"]
            self._files.append(Journal(folder.journal, keep=covered))
            self._files.append(Journal(folder.timings, keep=whole_lines(folder.timings)))
        return fresh() if state is None else state

    def note(self, event: Mapping[str, object]) -> None:
        """Add an event to the journal."""
        with self.folder.writing():
            self._files[0].append(event)

    def time(self, event: Mapping[str, object]) -> None:
        """Add an entry to what may differ between equal runs."""
        with self.folder.writing():
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
        journal = self._files[0]
        with self.folder.writing():
            about = {
                "number": self._number,
                "conditions": dict(self.conditions),
                "journal_bytes": journal.sync(),
                "journal_sha256": journal.sha256,
            }
            checkpoint = state.to_checkpoint(selector, algorithm, about, guard)
            save(self.folder.checkpoints, self._number, checkpoint)
        self._last = now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files:
            file.close()


def _restored(
    checkpoint: Checkpoint,
    selector: Selector,
    algorithm: Algorithm,
    guard: Guard | None,
    folder: RunFolder,
) -> RunState:
    try:
        _ = int(checkpoint.values["number"])
        return RunState.from_checkpoint(checkpoint, selector, algorithm, guard)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunFolderError(
            f"the newest checkpoint of {folder.path} must fit its configuration; it does not "
            f"({type(error).__name__}: {error}): delete {folder.checkpoints} to begin again."
        ) from error
