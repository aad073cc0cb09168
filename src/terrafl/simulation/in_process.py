"""All work done in this process, on one thread."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from terrafl.records import Refusal
from terrafl.simulation.executor import LossTask, grouped, train_or_fail
from terrafl.simulation.job import Arrays, Job, Trained, Work, client_sizes
from terrafl.simulation.trainer import Trainer


class InProcess:
    """The simplest :class:`terrafl.simulation.executor.Executor`.

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
        self.layout = self._trainer.network.layout
        self.initial_model = self._trainer.network.to_numpy()
        return self

    def __exit__(self, *exception: object) -> None:
        torch.set_num_threads(self._threads)

    def train(self, work: Work) -> list[Trained | Refusal]:
        """Train clients group by group."""
        results: dict[int, Trained | Refusal] = {}
        for group in grouped(client_sizes(self._arrays, work.tasks), self._trainer.group_size):
            part, on_failure = work.part(group), self._job.on_client_failure
            trained = train_or_fail(self._trainer.train, part, on_failure)
            results |= zip(group, trained, strict=True)
        return [results[i] for i in range(len(work.tasks))]

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        return [self._trainer.loss(model, client, rows) for client, rows in tasks]

    def evaluate(
        self, model: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return the task's statistics, (n, S), and the loss for every test example."""
        return self._trainer.evaluate(model, 0, len(self._arrays["test_y"]))
