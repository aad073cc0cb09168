"""The folder of one run, held by one process at a time."""

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from terrafl.errors import RunFolderError, StorageError
from terrafl.runs import checkpoint
from terrafl.runs.atomic import unfinished
from terrafl.runs.checkpoint import Checkpoint
from terrafl.runs.journal import starts_with
from terrafl.runs.summary import Summary

_log = logging.getLogger(__name__)


class RunFolder:
    """Where a run keeps its files; as a context manager, exclusively.

    Parameters
    ----------
    path
        The folder; it is created when the run starts.

    Attributes
    ----------
    config
        The resolved configuration; written first, so a folder without it holds no run.
    journal
        What happened.
    timings
        Everything that differs between equal runs.
    checkpoints
        The newest states.
    client_state
        An algorithm's vectors per client; each checkpoint says which slots are whose.
    model
        The final global model.
    summary
        What came out; written last, so a folder with it holds a finished run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        self.journal = path / "journal.jsonl"
        self.timings = path / "timings.jsonl"
        self.checkpoints = path / "checkpoints"
        self.client_state = self.checkpoints / "clients.f32"
        self.model = path / "model.safetensors"
        self.summary = path / "summary.json"
        self._lock: int | None = None

    @property
    def is_started(self) -> bool:
        """Whether a run was begun here."""
        return self.config.exists()

    @property
    def is_complete(self) -> bool:
        """Whether a run was finished here."""
        return self.summary.exists()

    def clear(self) -> None:
        """Remove what a start that was killed, or a run without configuration, has left."""
        self.client_state.unlink(missing_ok=True)
        checkpoint.discard(self.checkpoints)
        half_written = [unfinished(path) for path in (self.config, self.model, self.summary)]
        for path in (self.journal, self.timings, *half_written):
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Say what a file that cannot be written means for the run."""
        try:
            yield
        except OSError as error:
            step = f"continue with terrafl resume {self.path}" if self.is_started else "try again"
            raise StorageError(
                f"{error.filename or self.path} cannot be written: {error.strerror}. The work "
                f"so far is kept: fix that, then {step}."
            ) from error

    def discard(self) -> None:
        """Remove the files of a run that never began, and the folder if nothing else is in it."""
        for path in (self.config, self.journal, self.timings, self.path / ".lock"):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in it
            self.path.rmdir()

    def recover(self) -> Checkpoint | None:
        """Return the newest state of a run that is whole and agrees with the journal.

        A checkpoint knows the length and SHA-256 of the journal when it was made. One that is
        damaged, or whose part of the journal is, is passed over with a warning; where none is left,
        the run begins again, which costs time only. A journal that agrees with no checkpoint is
        refused: it was deleted or edited, and resuming would hide that.

        Returns
        -------
        Checkpoint or None
            ``None`` where the run has to begin at its beginning.
        """
        disagreeing = None
        for path, loaded in checkpoint.load(self.checkpoints):
            values = loaded.values
            length, sha256 = values.get("journal_bytes"), values.get("journal_sha256")
            if not isinstance(length, int) or not isinstance(sha256, str):
                _log.warning("checkpoint %s does not say what it covers and was passed over", path)
            elif starts_with(self.journal, length, sha256):
                return loaded
            else:
                disagreeing = path
                _log.warning("checkpoint %s covers another journal and was passed over", path)
        if disagreeing is not None:
            raise RunFolderError(
                f"{self.journal} must be the journal that {disagreeing} was made with; it was "
                "deleted, cut or edited: restore it, or start the run again in another folder."
            )
        if self.checkpoints.is_dir() and any(self.checkpoints.iterdir()):
            _log.warning("%s has no whole checkpoint: the run begins again", self.path)
        return None

    def read_summary(self) -> Summary:
        """Return the summary of the finished run."""
        if not self.is_complete:
            next_step = f"terrafl resume {self.path}" if self.is_started else "terrafl run"
            raise RunFolderError(f"{self.path} holds no finished run; finish it: {next_step}.")
        return Summary.read(self.summary)

    def __enter__(self) -> Self:
        while self._lock is None:  # until nobody deletes the lock between our two steps
            self._lock = self._locked()
        return self

    def _locked(self) -> int | None:
        """Return the lock's descriptor; nothing where its last holder has just deleted it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise RunFolderError(
                f"{self.path} must be a folder that can be written to: {error.strerror}."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_nlink:
                return lock
        except BlockingIOError as error:
            os.close(lock)
            raise RunFolderError(
                f"{self.path} is in use by another process: wait until it is done."
            ) from error
        os.close(lock)
        return None

    def __exit__(self, *exception: object) -> None:
        if self._lock is not None:
            os.close(self._lock)  # the lock goes with the descriptor
            self._lock = None
