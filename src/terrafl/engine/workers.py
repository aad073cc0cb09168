"""Who does the work: the interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from terrafl.engine.job import Trained, TrainTask
from terrafl.models import Layout

__all__ = ["EVALUATION_BATCH", "LossTask", "Workers", "evaluation_chunks"]

LossTask = tuple[int, Sequence[int] | None]
"""A client's position, and which of its examples to ask about (``None``: all)."""

EVALUATION_BATCH = 500


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

    def train(self, received: NDArray[np.float32], tasks: Sequence[TrainTask]) -> list[Trained]:
        """Train clients from the received model; results in the order of the tasks."""
        ...

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        ...

    def evaluate(self, model: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return, for every test example, whether the model is right, and its loss."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def evaluation_chunks(num_examples: int, layout: Layout) -> list[tuple[int, int]]:
    """Cut the test set the same way for everyone: the batch shape may reach the last bit.

    What a convolution makes of more than a few hundred images leaves the cache; a perceptron
    is so quick that handing out smaller pieces would show.
    """
    convolves = any(len(entry.shape) > 2 for entry in layout.parameters)
    size = EVALUATION_BATCH if convolves else 2 * EVALUATION_BATCH
    return [(start, min(start + size, num_examples)) for start in range(0, num_examples, size)]
