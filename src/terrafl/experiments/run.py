"""One run: from a configuration to a finished run folder."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from terrafl.errors import RunFolderError, UserError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.config_layers import read_configuration
from terrafl.experiments.drift import drift_since, require_none, warn_of_drift
from terrafl.experiments.result import Result
from terrafl.experiments.trust import remember, require_trust
from terrafl.provenance import user_code, versions
from terrafl.runs import RunFolder
from terrafl.runs.atomic import write_atomically
from terrafl.runs.temporary import TemporaryFolder

OnRound = Callable[[int, int, float | None], None]
"""Called after every round with finished rounds, planned rounds, and the newest accuracy."""


def execute(
    config: RunConfig,
    out: Path | None = None,
    *,
    workers: int = 1,
    on_round: OnRound = lambda done, planned, accuracy: None,
    checkpoint_every_s: float = 1.0,
) -> Result:
    """Train a configuration to its end.

    Parameters
    ----------
    config
        The configuration.
    out
        The run folder; left out, a temporary folder that is deleted with the result.
    workers
        Processes that train; 1 trains in this one. The result does not depend on their number.
    on_round
        Called after every round.
    checkpoint_every_s
        Minimum seconds between checkpoints.
    """
    # Loads torch, which reading configurations and results does not need.
    from terrafl.experiments.assemble import train

    temporary = None
    if out is None:
        temporary = TemporaryFolder()
        out = temporary.path
    folder = RunFolder(out)
    with folder:
        _require_unused(folder)
        _begin(folder, config)
        remember(config.parts.values())
        try:
            summary = train(folder, config, workers, on_round, checkpoint_every_s)
        except UserError:
            if not folder.checkpoints.exists():
                folder.discard()  # nothing was trained
            raise
    return Result(config, summary, folder, temporary)


def _require_unused(folder: RunFolder) -> None:
    if folder.is_complete:
        raise RunFolderError(
            f"{folder.path} already holds a finished run: choose another folder with --out."
        )
    if folder.is_started:
        raise RunFolderError(
            f"{folder.path} already holds a run: resume it with terrafl resume {folder.path}, "
            "or choose another folder."
        )


def resume(
    path: Path | str,
    *,
    workers: int = 1,
    on_round: OnRound = lambda done, planned, accuracy: None,
    checkpoint_every_s: float = 1.0,
    allow_drift: bool = False,
    trust: bool = False,
) -> Result:
    """Finish the run in a folder; a finished run is not changed.

    Parameters
    ----------
    path
        The run folder.
    workers, on_round, checkpoint_every_s
        As for :func:`execute`; they may differ from the first call's.
    allow_drift
        Resume although settings or versions have changed since the newest checkpoint, and note
        that in the journal; otherwise a change is refused.
    trust
        Import code that the folder's configuration names, although it was never run here.
    """
    from terrafl.experiments.assemble import train  # torch, see execute

    folder = RunFolder(Path(path))
    if not folder.is_started:
        raise RunFolderError(f"{path} holds no run: start one with terrafl run --out {path}.")
    config = read_config(folder, trust=trust)
    if folder.is_complete:
        warn_of_drift([folder])
        return Result(config, folder.read_summary(), folder)
    with folder:
        if folder.summary.exists():  # another process has just finished it
            return Result(config, folder.read_summary(), folder)
        start = folder.recover()
        drift = drift_since(folder, start, config)
        if not allow_drift:
            require_none(drift, folder)
        if start is None:
            _begin(folder, config)  # with the current versions
        summary = train(
            folder, config, workers, on_round, checkpoint_every_s, start=start, drift=drift
        )
    return Result(config, summary, folder)


def read_config(folder: RunFolder, *, trust: bool = False) -> RunConfig:
    """Return the configuration of the run in a folder; unknown code in it needs ``trust``."""
    plain = read_configuration(folder.config)
    if plain.get("framework") == "flower":
        raise RunFolderError(
            f"{folder.path} holds a run on Flower: to resume it, start its server app again "
            "with the same folder."
        )
    if not trust:
        require_trust(plain, folder.config)
    return RunConfig.from_plain(plain)


def _begin(folder: RunFolder, config: RunConfig) -> None:
    """Empty the folder and write the configuration."""
    import tomli_w

    plain = config.to_plain()
    plain["labels"] = asdict(config.labels)
    plain["versions"] = versions() | user_code(config.parts.values())
    with folder.writing():
        folder.clear()
        write_atomically(folder.config, tomli_w.dumps(plain).encode())
