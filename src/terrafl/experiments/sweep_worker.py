"""The child process of a sweep: finishes one run after another."""

from collections.abc import Callable
from pathlib import Path

from terrafl.errors import UserError
from terrafl.experiments.config import RunConfig
from terrafl.experiments.sweep import Cell, finish
from terrafl.simulation.process import Message, serve


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
