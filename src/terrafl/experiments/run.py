"""One run, from a configuration to a finished run folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from terrafl.errors import RunFolderError, UserError
from terrafl.experiments.config import RunConfig, read_configuration, read_toml
from terrafl.experiments.provenance import versions
from terrafl.experiments.result import Result
from terrafl.runs import RunFolder, Summary
from terrafl.runs.atomic import write_atomically
from terrafl.runs.temporary import TemporaryFolder

__all__ = ["OnRound", "execute", "read_config", "resume", "warn_of_drift"]

_log = logging.getLogger(__name__)

OnRound = Callable[[int, int, float | None], None]
"""Called after every round with rounds done, rounds planned, and the newest accuracy."""


def execute(
    config: RunConfig,
    out: Path | None = None,
    *,
    workers: int = 1,
    on_round: OnRound = lambda done, planned, accuracy: None,
    checkpoint_every_s: float = 1.0,
) -> Result:
    """Run a configuration to its end.

    Parameters
    ----------
    config
        What to run.
    out
        The run folder; without one the run lives in a temporary folder as long as its result.
    workers
        Processes that train; 1 trains in this one. The result does not depend on it.
    on_round
        Hears of progress.
    checkpoint_every_s
        Least seconds between checkpoints.
    """
    temporary = None
    if out is None:
        temporary = TemporaryFolder()
        out = temporary.path
    folder = RunFolder(out)
    with folder:
        _require_unused(folder)
        _write_config(folder, config)
        try:
            summary = _train(folder, config, workers, on_round, checkpoint_every_s)
        except UserError:
            if not folder.checkpoints.exists():
                folder.discard()  # nothing was trained: leave no trace
            raise
    return Result(config, summary, folder, temporary)


def _require_unused(folder: RunFolder) -> None:
    if folder.is_complete:
        raise RunFolderError(
            f"{folder.path} already holds a finished run: choose another folder with --out."
        )
    if folder.is_started:
        raise RunFolderError(
            f"{folder.path} already holds a run: go on with it by terrafl resume {folder.path}, "
            "or choose another folder."
        )


def resume(
    path: Path | str,
    *,
    workers: int = 1,
    on_round: OnRound = lambda done, planned, accuracy: None,
    checkpoint_every_s: float = 1.0,
) -> Result:
    """Finish the run in a folder; a finished one is left as it is."""
    folder = RunFolder(Path(path))
    if not folder.is_started:
        raise RunFolderError(f"{path} holds no run: start one with terrafl run --out {path}.")
    config = read_config(folder)
    warn_of_drift([folder])
    with folder:
        if folder.is_complete:
            return Result(config, folder.read_summary(), folder)
        summary = _train(folder, config, workers, on_round, checkpoint_every_s)
    return Result(config, summary, folder)


def read_config(folder: RunFolder) -> RunConfig:
    """Return the configuration of the run in a folder."""
    return RunConfig.from_plain(read_configuration(folder.config))


def warn_of_drift(folders: Iterable[RunFolder]) -> None:
    """Say when runs were made with other versions than the ones here."""
    now = versions()
    drifted = []
    for folder in folders:
        then = read_toml(folder.config).get("versions", {})
        changed = sorted(key for key in then.keys() | now if then.get(key) != now.get(key))
        if changed:
            drifted.append(", ".join(f"{k} {then.get(k)}, now {now.get(k)}" for k in changed))
    if drifted:
        _log.warning(
            "%d earlier run(s) were made with other versions (%s): results may differ from what "
            "would come out now",
            len(drifted),
            drifted[0],
        )


def _write_config(folder: RunFolder, config: RunConfig) -> None:
    import tomli_w

    plain = config.to_plain() | {"versions": versions()}
    write_atomically(folder.config, tomli_w.dumps(plain).encode())


def _train(
    folder: RunFolder, config: RunConfig, workers: int, on_round: OnRound, checkpoint_every_s: float
) -> Summary:
    # torch is loaded here and not before: reading configurations and results does not need it.
    from terrafl.experiments.training import train

    return train(folder, config, workers, on_round, checkpoint_every_s)
