"""The run folder of a run on Flower, like any other; or none."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from terrafl.errors import RunFolderError
from terrafl.federation.record import Record
from terrafl.federation.state import RunState
from terrafl.flower.model_arrays import ModelArrays, to_numpy
from terrafl.provenance import versions
from terrafl.runs import Labels, RunFolder
from terrafl.runs.atomic import write_atomically
from terrafl.runs.config_file import read_config_file

_log = logging.getLogger(__name__)


def begin(folder: RunFolder | None, settings: Mapping[str, Any], labels: Labels) -> Record:
    """Begin a run, or continue the one that is in a folder; without a folder, nothing is written.

    Parameters
    ----------
    folder
        The run folder, held by this process.
    settings
        What the run depends on, as in ``config.toml``; a run resumes only under the same.
    labels
        What the run is called.
    """
    if folder is None:
        return Record(None)
    if folder.is_complete:
        raise RunFolderError(f"{folder.path} already holds a finished run: choose another.")
    if folder.is_started:
        _require_the_same(folder, settings)
    else:
        import tomli_w

        about = {"framework": "flower", **settings}
        about |= {"labels": asdict(labels), "versions": _versions()}
        write_atomically(folder.config, tomli_w.dumps(about).encode())
    start = folder.recover()
    if start is not None:
        _log.warning("resuming after %s whole rounds", start.values.get("round"))
    return Record(folder, checkpoint_every_s=0.0, start=start)


def _require_the_same(folder: RunFolder, settings: Mapping[str, Any]) -> None:
    begun = read_config_file(folder.config)
    for name, value in settings.items():
        if begun.get(name) != value:
            raise RunFolderError(
                f"{folder.path} holds a run with {name} = {begun.get(name)!r}; this one has "
                f"{value!r}: restore the setting to resume it, or choose another folder."
            )


def finish(
    folder: RunFolder, model: ModelArrays, labels: Labels, state: RunState, num_rounds: int
) -> None:
    """Write the final model and, if it was ever evaluated, the summary."""
    from safetensors.numpy import save as to_safetensors

    with folder.writing():
        write_atomically(folder.model, to_safetensors(to_numpy(model.record)))
        if not state.curve:
            _log.warning(
                "%s has no summary: no evaluation gave an accuracy; give start() an "
                "evaluate_fn that returns one",
                folder.path,
            )
            return
        summary = state.summary(labels, num_rounds=num_rounds, versions=_versions())
        write_atomically(folder.summary, summary.to_json())


def _versions() -> dict[str, str]:
    return versions() | {"flwr": version("flwr")}
