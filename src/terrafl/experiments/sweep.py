"""Many runs, several at a time in separate processes; finished ones are skipped.

A process of a sweep runs this module and finishes one run after another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from terrafl.errors import RunFolderError, TerraflError, UserError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.drift import warn_of_drift
from terrafl.experiments.run import OnRound, execute, read_config, resume
from terrafl.experiments.tracking import MakeTracker, Tracking
from terrafl.runs import RunFolder
from terrafl.simulation.process import ChildDied, Message, serve
from terrafl.simulation.process_group import MOST_DEATHS, ProcessGroup


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a sweep.

    Parameters
    ----------
    folder
        Its run folder.
    config
        Its configuration.
    """

    folder: Path
    config: RunConfig


OnCell = Callable[[Cell, int, int, float | None], None]
"""Called with a cell, its finished rounds, its planned rounds, and its newest accuracy."""


def sweep(
    cells: Sequence[Cell],
    *,
    workers: int = 1,
    on_round: OnCell = lambda cell, done, planned, accuracy: None,
    track: str | MakeTracker | None = None,
) -> None:
    """Finish all cells.

    A process that dies is replaced, and its run is resumed there.

    Parameters
    ----------
    cells
        The runs.
    workers
        How many run at once, one process and one thread each; 1 runs them in this process.
    on_round
        Called after every round of every run.
    track
        A tracker for every run, see :class:`terrafl.experiments.tracking.Tracking`.
    """
    with Tracking(track) as tracking:

        def hear(cell: Cell, done: int, planned: int, accuracy: float | None) -> None:
            on_round(cell, done, planned, accuracy)
            tracking.update(cell.folder, done)

        finished = [cell for cell in cells if is_complete(cell)]
        waiting = [cell for cell in cells if cell not in finished]
        warn_of_drift(RunFolder(cell.folder) for cell in finished)
        for cell in finished:
            hear(cell, cell.config.rounds, cell.config.rounds, None)
        if workers == 1 or len(waiting) < 2:
            # Starting another process would gain nothing.
            for cell in waiting:
                finish(cell, partial(hear, cell))
        else:
            _in_parallel(waiting, min(workers, len(waiting)), hear)


def is_complete(cell: Cell) -> bool:
    """Return whether a cell is finished; refuse a folder that holds another run."""
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
    """Finish a cell in this process, from its newest checkpoint if there is one."""
    if RunFolder(cell.folder).is_started:
        resume(cell.folder, on_round=on_round)
    else:
        execute(cell.config, cell.folder, on_round=on_round)


def _in_parallel(cells: Sequence[Cell], workers: int, on_round: OnCell) -> None:
    def on_progress(index: int, message: Message) -> None:
        on_round(cells[index], *message["progress"])

    def give_up(index: int, death: ChildDied) -> Message:
        raise TerraflError(
            f"the run in {cells[index].folder} was interrupted {MOST_DEATHS} times: {death}. "
            "Finished rounds are kept: run the same command again."
        ) from death

    with ProcessGroup("terrafl.experiments.sweep", workers) as processes:
        processes.ask(
            [{"folder": str(cell.folder), "config": cell.config.to_plain()} for cell in cells],
            on_progress=on_progress,
            give_up=give_up,
        )


def run_cell(message: Message, answer: Callable[[Message], None]) -> None:
    """Finish a run; send its progress after every round, and an answer at the end."""

    def send_progress(done: int, planned: int, accuracy: float | None) -> None:
        answer({"progress": [done, planned, accuracy]})

    cell = Cell(Path(message["folder"]), RunConfig.from_plain(message["config"]))
    try:
        finish(cell, send_progress)
    except UserError as error:
        raise UserError(f"the run in {cell.folder} stopped: {error}") from error
    answer({})


if __name__ == "__main__":
    serve(run_cell)
