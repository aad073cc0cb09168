"""Writing a run on Flower down in a run folder like any other, or nowhere."""

from __future__ import annotations

import hashlib
import json
import logging
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from terrafl.errors import RunFolderError
from terrafl.experiments.provenance import versions
from terrafl.flower.labels import Labels
from terrafl.flower.state import FlowerState
from terrafl.runs import Journal, RunFolder, Summary
from terrafl.runs.atomic import write_atomically
from terrafl.runs.checkpoint import Checkpoint, save
from terrafl.runs.journal import whole_lines
from terrafl.runs.recovery import recover

__all__ = ["Trace"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Trace:
    """The written trace of one run; without a folder, nothing is written.

    Parameters
    ----------
    path
        The run folder.
    settings
        What the run depends on, as it stands in ``config.toml``; a run is gone on with only
        under the same.
    """

    path: Path | None
    settings: Mapping[str, Any]  # Any: what TOML can hold
    _folder: RunFolder | None = field(default=None, init=False)
    _files: list[Journal] = field(default_factory=list, init=False)
    _number: int = field(default=0, init=False)

    def __enter__(self) -> Self:
        if self.path is not None:
            self._folder = RunFolder(self.path).__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        for file in self._files:
            file.close()
        if self._folder is not None:
            self._folder.__exit__(*exception)

    def open(self) -> Checkpoint | None:
        """Begin a run, or return the newest checkpoint of the one that is here."""
        folder = self._folder
        if folder is None:
            return None
        if folder.is_complete:
            raise RunFolderError(f"{folder.path} already holds a finished run: choose another.")
        if folder.is_started:
            self._require_the_same(folder)
        else:
            self._write_config(folder)
        checkpoint = recover(folder)
        with folder.writing():
            covered = checkpoint.values["journal_bytes"] if checkpoint else 0
            self._files.append(Journal(folder.journal, keep=covered))
            self._files.append(Journal(folder.timings, keep=whole_lines(folder.timings)))
        self._number = checkpoint.values["number"] if checkpoint else 0
        return checkpoint

    def _write_config(self, folder: RunFolder) -> None:
        import tomli_w

        about = {"framework": "flower", **self.settings, "versions": _versions()}
        write_atomically(folder.config, tomli_w.dumps(about).encode())

    def _require_the_same(self, folder: RunFolder) -> None:
        begun = tomllib.loads(folder.config.read_text())
        for name, value in self.settings.items():
            if begun.get(name) != value:
                raise RunFolderError(
                    f"{folder.path} holds a run with {name} = {begun.get(name)!r}; this one has "
                    f"{value!r}: restore the setting to go on, or choose another folder."
                )

    def note(self, event: Mapping[str, object]) -> None:
        """Add an event to the journal."""
        if self._folder is not None:
            with self._folder.writing():
                self._files[0].append(event)

    def time(self, event: Mapping[str, object]) -> None:
        """Add an entry to what may differ between equal runs."""
        if self._folder is not None:
            with self._folder.writing():
                self._files[1].append(event)

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a state, whole or not at all."""
        if self._folder is None:
            return
        self._number += 1
        journal = self._files[0]
        with self._folder.writing():
            about = {
                "number": self._number,
                "journal_bytes": journal.sync(),
                "journal_sha256": journal.sha256,
            }
            whole = Checkpoint({**checkpoint.values, **about}, checkpoint.arrays)
            save(self._folder.checkpoints, self._number, whole)

    def finish(self, state: FlowerState, labels: Labels) -> None:
        """Write the final model and, if it was ever evaluated, the summary."""
        from safetensors.numpy import save as to_safetensors

        if self._folder is None:
            return
        write_atomically(self._folder.model, to_safetensors(state.model()))
        if not state.curve:
            _log.warning(
                "%s has no summary: no evaluation gave an accuracy; give start() an evaluate_fn "
                "that returns one",
                self._folder.path,
            )
            return
        accuracies = [point.accuracy for point in state.curve]
        newest = accuracies[-10:]
        summary = Summary(
            **asdict(labels),
            scenario="",
            profile="",
            rounds=state.round,
            stopped="rounds",
            **asdict(state.costs),
            accuracy=accuracies[-1],
            accuracy_participating=state.accuracy_participating,
            best=max(accuracies),
            mean_last_ten=sum(newest) / len(newest),
            curve=tuple(state.curve),
            versions=_versions(),
            experiment=self._experiment(),
        )
        write_atomically(self._folder.summary, summary.to_json())

    def _experiment(self) -> str:
        """Return a digest of all settings but seed and selector: what comparable runs share."""
        shared = {k: v for k, v in self.settings.items() if k not in ("seed", "selector")}
        return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]


def _versions() -> dict[str, str]:
    return versions() | {"flwr": version("flwr")}
