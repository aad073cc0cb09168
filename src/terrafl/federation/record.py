"""Writing a run down while it runs: journal, timings, checkpoints."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from terrafl.errors import RunFolderError
from terrafl.federation.state import RunState, Stateful
from terrafl.records import Vector
from terrafl.runs import Journal, RunFolder
from terrafl.runs.checkpoint import Checkpoint, save
from terrafl.runs.events import Event
from terrafl.runs.journal import whole_lines
from terrafl.runs.slot_file import SlotFile


@dataclass(slots=True)
class Record:
    """The files of one run; without a folder, nothing is written.

    Parameters
    ----------
    folder
        The run folder, held by this process; ``None`` writes nothing.
    checkpoint_every_s
        Least seconds between two checkpoints. With 0 a crash loses at most the iteration under
        way; above, at most that many seconds more.
    start
        The checkpoint to resume from, see :meth:`terrafl.runs.RunFolder.recover`; ``None`` to
        begin.
    conditions
        What the result depends on, kept with every checkpoint.
    """

    folder: RunFolder | None
    checkpoint_every_s: float = 1.0
    start: Checkpoint | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    _files: list[Journal] = field(default_factory=list, init=False)
    _number: int = field(default=0, init=False)
    _last: float = field(default=0.0, init=False)

    def open(self, initial_model: Vector, parts: Mapping[str, Stateful]) -> RunState:
        """Return the state to continue from: the checkpoint's, or a fresh one."""
        start, folder = self.start, self.folder
        if folder is None:
            return RunState(initial_model)
        state = RunState(initial_model) if start is None else _restored(start, parts, folder)
        covered = 0
        if start is not None:
            self._number, covered = start.values["number"], start.values["journal_bytes"]
        with folder.writing():
            self._files.append(Journal(folder.journal, keep=covered))
            self._files.append(Journal(folder.timings, keep=whole_lines(folder.timings)))
        return state

    def client_vectors(self, size: int, names: Sequence[str]) -> SlotFile:
        """Return where an algorithm keeps vectors per client: in the run folder, or nowhere."""
        path = None if self.folder is None else self.folder.client_state
        return SlotFile(path, size, names)

    def note(self, event: Event) -> None:
        """Add an event to the journal."""
        if self.folder is not None:
            with self.folder.writing():
                self._files[0].append(event)

    def time(self, event: Event) -> None:
        """Add an entry to what may differ between equal runs."""
        if self.folder is not None:
            with self.folder.writing():
                self._files[1].append(event)

    def checkpoint(self, state: RunState, parts: Mapping[str, Stateful]) -> None:
        """Save the state, unless the last checkpoint is recent enough."""
        now = time.monotonic()
        if self.folder is None or now - self._last < self.checkpoint_every_s:
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
            save(self.folder.checkpoints, self._number, state.to_checkpoint(parts, about))
        self._last = now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files:
            file.close()


def _restored(checkpoint: Checkpoint, parts: Mapping[str, Stateful], folder: RunFolder) -> RunState:
    try:
        _ = int(checkpoint.values["number"])
        return RunState.from_checkpoint(checkpoint, parts)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunFolderError(
            f"the newest checkpoint of {folder.path} must fit its configuration; it does not "
            f"({type(error).__name__}: {error}): delete {folder.checkpoints} to start again."
        ) from error
