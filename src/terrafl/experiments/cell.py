"""The child process of a sweep: finishes one cell after another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from terrafl.experiments.config import RunConfig
from terrafl.experiments.sweep import Cell, finish
from terrafl.simulation.process import Message, serve


def run_cell(message: Message, answer: Callable[[Message], None]) -> None:
    """Run the cell; answer after every round, and at the end."""

    def tell(done: int, planned: int, accuracy: float | None) -> None:
        answer({"done": done, "planned": planned, "accuracy": accuracy})

    cell = Cell(Path(message["folder"]), RunConfig.from_plain(message["config"]))
    finish(cell, tell)
    answer({"finished": True})


if __name__ == "__main__":
    serve(run_cell)
