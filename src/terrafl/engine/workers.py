"""Who does the work: the interface, and the simplest answer, this process."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray

from terrafl.engine.job import Arrays, Job, Trained, TrainTask
from terrafl.engine.trainer import EVALUATION_BATCH, Trainer
from terrafl.models import Layout

__all__ = ["InProcess", "LossTask", "Workers", "evaluation_chunks"]

LossTask = tuple[int, NDArray[np.int64] | None]
"""A client's position, and which of its examples to ask about (``None``: all)."""


class Workers(Protocol):
    """Train, question and evaluate clients; equal requests give equal bytes, whoever answers."""

    @property
    def layout(self) -> Layout:
        """How a model lies in memory."""
        ...

    @property
    def initial_model(self) -> NDArray[np.float32]:
        """The model that the run's seed gives."""
        ...

    def train(self, received: NDArray[np.float32], tasks: Sequence[TrainTask]) -> Sequence[Trained]:
        """Train clients from the received model; results in the order of the tasks."""
        ...

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        ...

    def evaluate(self, model: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return, for every test example, whether the model is right, and its loss."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def evaluation_chunks(num_examples: int) -> list[tuple[int, int]]:
    """Cut the test set the same way for everyone: the batch shape may reach the last bit."""
    starts = range(0, num_examples, EVALUATION_BATCH)
    return [(start, min(start + EVALUATION_BATCH, num_examples)) for start in starts]


class InProcess:
    """Do all work in this process, on one thread.

    torch's thread count is set to one while in use, since results differ in the last bits
    between thread counts, and restored after.
    """

    def __init__(self, job: Job, arrays: Arrays) -> None:
        self._job = job
        self._arrays = arrays
        self._threads = 0

    def __enter__(self) -> Self:
        self._threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self._trainer = Trainer(self._job, self._arrays)
        self._initial = self._trainer.network.to_numpy()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        torch.set_num_threads(self._threads)

    @property
    def layout(self) -> Layout:
        """How a model lies in memory."""
        return self._trainer.network.layout

    @property
    def initial_model(self) -> NDArray[np.float32]:
        """The model that the run's seed gives."""
        return self._initial

    def train(self, received: NDArray[np.float32], tasks: Sequence[TrainTask]) -> Sequence[Trained]:
        """Train clients one after another."""
        return [self._trainer.train(received, task) for task in tasks]

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        return [self._trainer.loss(model, client, rows) for client, rows in tasks]

    def evaluate(self, model: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return, for every test example, whether the model is right, and its loss."""
        chunks = evaluation_chunks(len(self._arrays["test_y"]))
        parts = [self._trainer.evaluate(model, start, stop) for start, stop in chunks]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
