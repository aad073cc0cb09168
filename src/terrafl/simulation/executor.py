"""The interface of an executor: what trains, questions and evaluates simulated clients."""

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from terrafl.models import Layout
from terrafl.records import Refusal
from terrafl.simulation.job import Trained, Work

LossTask = tuple[int, Sequence[int] | None]
"""A client's position, and which of its examples to ask about (``None``: all)."""

EVALUATION_BATCH = 500  # what a convolution makes of more images leaves the cache


class Executor(Protocol):
    """Train, question and evaluate clients; equal requests give equal bytes on every executor."""

    @property
    def layout(self) -> Layout:
        """How a model lies in memory."""
        ...

    @property
    def initial_model(self) -> NDArray[np.float32]:
        """The model that the run's seed gives."""
        ...

    def train(self, work: Work) -> list[Trained | Refusal]:
        """Train clients from the received model; return results in the order of the tasks."""
        ...

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        ...

    def evaluate(
        self, model: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return the task's statistics, (n, S), and the loss for every test example."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def evaluation_pieces(num_examples: int, layout: Layout, num_workers: int) -> list[tuple[int, int]]:
    """Cut the test set for workers, between batches only: their shape may reach the last bit.

    Convolutions are handed out batch by batch, so that no worker waits long for the last; a
    perceptron is so quick that every message shows, and each worker gets one piece.
    """
    convolves = any(len(entry.shape) > 2 for entry in layout.parameters)
    batches = 1 if convolves else -(-num_examples // (EVALUATION_BATCH * num_workers))
    size = EVALUATION_BATCH * batches
    return [(start, min(start + size, num_examples)) for start in range(0, num_examples, size)]
