"""The run folder of a run on Flower, like any other; or none."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from terrafl.errors import RunFolderError
from terrafl.federation.record import Record
from terrafl.federation.state import RunState
from terrafl.federation.summary import summarise
from terrafl.flower.model_arrays import ModelArrays, to_numpy
from terrafl.provenance import versions
from terrafl.runs import Labels, RunFolder
from terrafl.runs.atomic import write_atomically
from terrafl.runs.recovery import recover

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class FlowerRunFolder:
    """Where a run on Flower is written; without a path, nothing is.

    Parameters
    ----------
    path
        The run folder.
    settings
        What the run depends on, as in ``config.toml``; a run resumes only under the same.
    labels
        What the run is called.
    """

    path: Path | None
    settings: Mapping[str, Any]  # Any: what TOML can hold
    labels: Labels
    _folder: RunFolder | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        if self.path is not None:
            self._folder = RunFolder(self.path).__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder is not None:
            self._folder.__exit__(*exception)

    def record(self) -> Record:
        """Begin a run, or continue the one that is here."""
        folder = self._folder
        if folder is None:
            return Record(None)
        if folder.is_complete:
            raise RunFolderError(f"{folder.path} already holds a finished run: choose another.")
        if folder.is_started:
            self._require_the_same(folder)
        else:
            self._write_config(folder)
        start = recover(folder)
        if start is not None:
            _log.warning("resuming after %s whole rounds", start.values.get("round"))
        return Record(folder, checkpoint_every_s=0.0, start=start)

    def _write_config(self, folder: RunFolder) -> None:
        import tomli_w

        about = {"framework": "flower", **self.settings}
        about |= {"labels": asdict(self.labels), "versions": _versions()}
        write_atomically(folder.config, tomli_w.dumps(about).encode())

    def _require_the_same(self, folder: RunFolder) -> None:
        begun = tomllib.loads(folder.config.read_text())
        for name, value in self.settings.items():
            if begun.get(name) != value:
                raise RunFolderError(
                    f"{folder.path} holds a run with {name} = {begun.get(name)!r}; this one has "
                    f"{value!r}: restore the setting to resume it, or choose another folder."
                )

    def finish(self, state: RunState, model: ModelArrays, num_rounds: int) -> None:
        """Write the final model and, if it was ever evaluated, the summary."""
        from safetensors.numpy import save as to_safetensors

        if self._folder is None:
            return
        with self._folder.writing():
            write_atomically(self._folder.model, to_safetensors(to_numpy(model.record)))
            if not state.curve:
                _log.warning(
                    "%s has no summary: no evaluation gave an accuracy; give start() an "
                    "evaluate_fn that returns one",
                    self._folder.path,
                )
                return
            summary = summarise(self.labels, state, num_rounds=num_rounds, versions=_versions())
            write_atomically(self._folder.summary, summary.to_json())


def _versions() -> dict[str, str]:
    return versions() | {"flwr": version("flwr")}
