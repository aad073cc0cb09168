"""Train and evaluate clients in this process, one torch thread, whoever calls."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from terrafl.engine.job import Arrays, Job, Trained, TrainTask
from terrafl.engine.training import LocalTraining
from terrafl.models.flat import FlatNetwork
from terrafl.seeds import stream, torch_stream

__all__ = ["EVALUATION_BATCH", "Trainer"]

EVALUATION_BATCH = 500


class Trainer:
    """Everything a client does, for any client of a run.

    Results depend on the job, the arrays and the task alone: not on the process, nor on what
    was trained before.

    Parameters
    ----------
    job
        What to train, and how.
    arrays
        The data, see :func:`terrafl.engine.job.arrays_of`; read, never written.
    """

    def __init__(self, job: Job, arrays: Arrays) -> None:
        self._job = job
        self._arrays = arrays
        self._network = FlatNetwork.build(
            job.model, job.input_shape, job.num_classes, seed=job.seed
        )
        self._has_dropout = any(
            isinstance(m, torch.nn.modules.dropout._DropoutNd)
            for m in self._network.module.modules()
        )
        shape = (1, -1, *(1,) * (len(job.input_shape) - 1))
        self._scale = torch.tensor(job.scale).view(shape)
        self._offset = torch.tensor(job.offset).view(shape)

    @property
    def network(self) -> FlatNetwork:
        """The network; right after construction it holds the run's initial model."""
        return self._network

    def train(self, received: NDArray[np.float32], task: TrainTask) -> Trained:
        """Train one client from the received model."""
        started = time.perf_counter()
        job, training = self._job, self._job.training
        start = torch.from_numpy(received)
        self._network.load(start)
        self._network.module.train()
        x, y = self._client_examples(task.client)
        order = stream(
            job.seed, "batches", round=task.round, iteration=task.iteration, client=task.client_id
        )
        batches = _batches(x, y, training, order)
        if self._has_dropout:
            with torch_stream(
                job.seed,
                "dropout",
                round=task.round,
                iteration=task.iteration,
                client=task.client_id,
            ):
                steps, loss, squared = self._descend(start, batches, task.learning_rate)
        else:
            steps, loss, squared = self._descend(start, batches, task.learning_rate)
        seen = len(y) * training.epochs
        return Trained(
            vector=self._network.to_numpy(),
            num_steps=steps,
            loss=loss / seen if job.wants_loss else None,
            squared_loss=squared / seen if job.wants_squared_loss else None,
            duration_s=time.perf_counter() - started,
        )

    def _descend(
        self, start: Tensor, batches: Iterable[tuple[Tensor, Tensor]], learning_rate: float
    ) -> tuple[int, float, float]:
        """Take one step per mini-batch; return steps, summed loss and summed squared loss."""
        algorithm, parameters = self._job.algorithm, self._network.parameters
        module = self._network.module
        optimizer = _optimizer(parameters, self._job.training, learning_rate)
        anchors = [start[e.place].view(e.shape) for e in self._network.layout.parameters]
        steps, total, total_squared = 0, 0.0, 0.0
        for x, y in batches:
            optimizer.zero_grad(set_to_none=True)
            losses = functional.cross_entropy(module(x), y, reduction="none")
            losses.mean().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            if algorithm.corrects_gradients:
                with torch.no_grad():
                    for parameter, anchor in zip(parameters, anchors, strict=True):
                        assert parameter.grad is not None
                        parameter.grad = algorithm.correct_gradient(
                            parameter.grad, parameter.detach(), anchor
                        )
            optimizer.step()
            steps += 1
            if self._job.wants_loss:
                total += float(losses.detach().double().sum())
            if self._job.wants_squared_loss:
                total_squared += float(losses.detach().double().square().sum())
        return steps, total, total_squared

    def loss(
        self, model: NDArray[np.float32], client: int, rows: NDArray[np.int64] | None = None
    ) -> float:
        """Return the mean loss of a model on a client's training examples, or some of them."""
        self._network.load(torch.from_numpy(model))
        x, y = self._client_examples(client, rows)
        total = 0.0
        for start in range(0, len(y), EVALUATION_BATCH):
            stop = start + EVALUATION_BATCH
            total += float(self._losses(x[start:stop], y[start:stop])[1].double().sum())
        return total / len(y)

    def evaluate(
        self, model: NDArray[np.float32], start: int, stop: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Return, for these rows of the test set, whether the model is right, and its loss."""
        self._network.load(torch.from_numpy(model))
        x = self._to_input(self._arrays["test_x"][start:stop])
        y = torch.from_numpy(self._arrays["test_y"][start:stop])
        scores, losses = self._losses(x, y)
        return (scores.argmax(dim=1) == y).numpy(), losses.numpy()

    @torch.no_grad()
    def _losses(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        self._network.module.eval()
        scores: Tensor = self._network.module(x)
        return scores, functional.cross_entropy(scores, y, reduction="none")

    def _client_examples(
        self, client: int, rows: NDArray[np.int64] | None = None
    ) -> tuple[Tensor, Tensor]:
        first, last = self._arrays["train_offsets"][client : client + 2]
        indices = self._arrays["train_indices"][first:last]
        if rows is not None:
            indices = indices[rows]
        x = self._to_input(self._arrays["train_x"][indices])
        return x, torch.from_numpy(self._arrays["train_y"][indices])

    def _to_input(self, stored: NDArray[np.generic]) -> Tensor:
        x = torch.from_numpy(stored).to(torch.float32)
        return x.mul_(self._scale).add_(self._offset)


def _batches(
    x: Tensor, y: Tensor, training: LocalTraining, order: np.random.Generator
) -> Iterable[tuple[Tensor, Tensor]]:
    for _ in range(training.epochs):
        shuffled = torch.from_numpy(order.permutation(len(y)))
        epoch_x, epoch_y = x[shuffled], y[shuffled]
        for start in range(0, len(y), training.batch_size):
            stop = start + training.batch_size
            yield epoch_x[start:stop], epoch_y[start:stop]


def _optimizer(
    parameters: list[torch.nn.Parameter], training: LocalTraining, learning_rate: float
) -> torch.optim.Optimizer:
    if training.optimizer == "adam":
        return torch.optim.Adam(
            parameters, lr=learning_rate, weight_decay=training.weight_decay, fused=True
        )
    return torch.optim.SGD(
        parameters,
        lr=learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        fused=True,
    )
