"""Many runs, several at a time, each in a process of its own; finished ones are skipped."""

from __future__ import annotations

import selectors
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from terrafl.errors import RunFolderError, TerraflError, UserError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.drift import warn_of_drift
from terrafl.experiments.run import OnRound, execute, read_config, resume
from terrafl.runs import RunFolder
from terrafl.simulation.process import ChildDied, JsonProcess

__all__ = ["Cell", "OnCell", "finish", "sweep"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a sweep.

    Parameters
    ----------
    folder
        Where it is, or will be.
    config
        What it is.
    """

    folder: Path
    config: RunConfig


OnCell = Callable[[Cell, int, int, float | None], None]
"""Called with a cell, its rounds done, its rounds planned, and its newest accuracy."""


def sweep(
    cells: Sequence[Cell],
    *,
    workers: int = 1,
    on_round: OnCell = lambda cell, done, planned, accuracy: None,
) -> None:
    """Finish every cell.

    Parameters
    ----------
    cells
        The runs.
    workers
        How many run at once, one process and one thread each; 1 runs them in this process.
    on_round
        Hears of progress.
    """
    done = [cell for cell in cells if is_complete(cell)]
    waiting = [cell for cell in cells if cell not in done]
    warn_of_drift(RunFolder(cell.folder) for cell in done)
    for cell in done:
        on_round(cell, cell.config.rounds, cell.config.rounds, None)
    if workers == 1 or len(waiting) < 2:
        # One after another in this process; nothing is gained by starting another.
        for cell in waiting:
            finish(cell, partial(on_round, cell))
    else:
        _in_parallel(waiting, min(workers, len(waiting)), on_round)


def is_complete(cell: Cell) -> bool:
    """Return whether a cell is done; refuse a folder that holds some other run."""
    folder = RunFolder(cell.folder)
    if not folder.is_started:
        return False
    stored = read_config(folder).to_plain()
    wanted = cell.config.to_plain()
    differing = sorted(k for k in stored.keys() | wanted.keys() if stored.get(k) != wanted.get(k))
    if differing:
        key = differing[0]
        raise RunFolderError(
            f"{cell.folder} holds a run with another {key} ({stored.get(key)}, wanted "
            f"{wanted.get(key)}): choose another folder with --out, or delete that one."
        )
    return folder.is_complete


def finish(cell: Cell, on_round: OnRound) -> None:
    """Run a cell in this process, from its newest checkpoint if it has one."""
    if RunFolder(cell.folder).is_started:
        resume(cell.folder, on_round=on_round)
    else:
        execute(cell.config, cell.folder, on_round=on_round)


def _in_parallel(cells: Sequence[Cell], workers: int, on_round: OnCell) -> None:
    queue = iter(cells)
    processes = [JsonProcess("terrafl.experiments.cell") for _ in range(workers)]
    try:
        with selectors.DefaultSelector() as ready:
            for process in processes:
                ready.register(process, selectors.EVENT_READ, _next(process, queue))
            while ready.get_map():
                for key, _ in ready.select():
                    assert isinstance(key.fileobj, JsonProcess)
                    if _heard(key.fileobj, key.data, on_round):
                        following = _next(key.fileobj, queue)
                        if following is None:
                            ready.unregister(key.fileobj)
                        else:
                            ready.modify(key.fileobj, selectors.EVENT_READ, following)
    finally:
        for process in processes:
            process.close()


def _next(process: JsonProcess, queue: Iterator[Cell]) -> Cell | None:
    cell = next(queue, None)
    if cell is not None:
        process.send({"folder": str(cell.folder), "config": cell.config.to_plain()})
    return cell


def _heard(process: JsonProcess, cell: Cell, on_round: OnCell) -> bool:
    """Take what a cell has said; return whether it is finished."""
    while True:
        try:
            message = process.answer()
        except UserError as error:
            raise UserError(f"the run in {cell.folder} stopped: {error}") from error
        except ChildDied as error:
            raise TerraflError(
                f"the run in {cell.folder} was interrupted: {error}. What it had done is kept: "
                "run the same command again."
            ) from error
        if "done" in message:
            on_round(cell, message["done"], message["planned"], message["accuracy"])
        if "finished" in message or not process.has_unread:
            return "finished" in message
