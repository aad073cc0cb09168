"""Train and evaluate clients in this process, with one torch thread."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.modules.dropout import _DropoutNd

from terrafl.algorithms import LocalStep
from terrafl.errors import ConfigurationError
from terrafl.models.flat import FlatNetwork
from terrafl.records import Vector
from terrafl.seeds import stream, torch_stream
from terrafl.simulation.batched import GROUP_SIZE, BatchedTrainer, is_batchable
from terrafl.simulation.executor import EVALUATION_BATCH
from terrafl.simulation.job import (
    Arrays,
    Job,
    Precision,
    Trained,
    TrainTask,
    Vectors,
    Work,
)
from terrafl.simulation.local_training import LocalTraining


class Trainer:
    """Everything a client does, for any client of a run.

    Results depend on the job, the arrays and the tasks of the group alone: not on the process,
    nor on what was trained before.

    Parameters
    ----------
    job
        What to train, and how.
    arrays
        The data, see :func:`terrafl.simulation.job.arrays_of`; read, never written.

    Attributes
    ----------
    network
        The network; right after construction it holds the run's initial model.
    """

    def __init__(self, job: Job, arrays: Arrays) -> None:
        self.job = job
        self._arrays = arrays
        _require_precision(job.precision, job.device)
        self.network = FlatNetwork.build(
            job.model, job.input_shape, job.num_outputs, seed=job.seed, device=job.device
        )
        modules = self.network.module.modules()
        self._has_dropout = any(isinstance(module, _DropoutNd) for module in modules)
        batchable = is_batchable(job, self.network.module)
        self._batched = BatchedTrainer(job, self.network.layout) if batchable else None
        if job.algorithm.uses_features and len(self.network.parameters) == 2:  # weight and bias
            raise ConfigurationError(
                f"{job.algorithm.name} must have a network with a trained layer before the final "
                f"one; {job.model.name} has none: choose another model, or another algorithm."
            )
        self._frozen: dict[str, FlatNetwork] = {}  # by the name of a given vector; "": received
        self._is_raw = arrays["train_x"].dtype == np.int64
        shape = (1, -1, *(1,) * (len(job.input_shape) - 1))
        self._scale = torch.tensor(job.scale, device=job.device).view(shape)
        self._offset = torch.tensor(job.offset, device=job.device).view(shape)

    @property
    def group_size(self) -> int:
        """How many clients are trained together."""
        return GROUP_SIZE if self._batched else 1

    def train(self, work: Work) -> list[Trained]:
        """Train a group of clients, each from the received model."""
        if self._batched is None:
            return [self._train_one(work, position) for position in range(len(work.tasks))]
        batches = [self._batches(task) for task in work.tasks]
        order = sorted(range(len(batches)), key=lambda i: -len(batches[i]))
        results = self._batched.train(work.part(order), [batches[i] for i in order], self._gather)
        return [results[order.index(i)] for i in range(len(order))]

    def _train_one(self, work: Work, position: int) -> Trained:
        started, task = time.perf_counter(), work.tasks[position]
        self.network.load(torch.from_numpy(work.received))
        self.network.module.train()
        batches = self._batches(task)
        given = work.given_to(position)
        correct = self._correction(work.shared, given)
        contrast = self._contrast(work.received, given)
        with self._dropout_stream(task):
            totals = self._descend(batches, task.learning_rate, correct, contrast)
        seen = int((batches >= 0).sum())
        return Trained(
            vector=self.network.to_numpy(),
            steps=len(batches),
            measurements={name: total / seen for name, total in totals.items()},
            duration_s=time.perf_counter() - started,
        )

    def _correction(self, shared: Vectors, given: Vectors) -> Callable[[], None] | None:
        """Return what corrects the gradients of a client, if the algorithm does."""
        algorithm, network = self.job.algorithm, self.network
        if not algorithm.corrects_gradients:
            return None
        received = [p.detach().clone() for p in network.parameters]
        extras = [[network.parts(vector) for vector in v.values()] for v in (shared, given)]
        parts = [
            tuple(
                dict(zip(names, (vector[i] for vector in vectors), strict=True))
                for names, vectors in zip((shared, given), extras, strict=True)
            )
            for i in range(len(received))
        ]

        @torch.no_grad()
        def correct() -> None:
            for parameter, start, (together, own) in zip(
                network.parameters, received, parts, strict=True
            ):
                assert parameter.grad is not None
                parameter.grad = algorithm.correct_gradient(
                    LocalStep(parameter.grad, parameter.detach(), start, together, own)
                )

        return correct

    def _contrast(
        self, received: Vector, given: Vectors
    ) -> Callable[[Tensor, Tensor], Tensor] | None:
        """Return what the algorithm adds to the losses of a mini-batch, if it does."""
        algorithm, network = self.job.algorithm, self.network
        if not algorithm.uses_features or not given:
            return None
        if not self._frozen:
            self._frozen = {name: network.frozen_copy() for name in ("", *algorithm.gives)}
        for name, vector in {"": received, **given}.items():
            self._frozen[name].load(torch.from_numpy(vector))

        def contrast(x: Tensor, features: Tensor) -> Tensor:
            with torch.no_grad():
                others = {n: net.outputs_and_features(x)[1] for n, net in self._frozen.items()}
            return algorithm.local_loss(features, others.pop(""), others)

        return contrast

    def _dropout_stream(self, task: TrainTask) -> AbstractContextManager[None]:
        if not self._has_dropout:
            return nullcontext()
        return torch_stream(
            self.job.seed,
            "dropout",
            round=task.round,
            iteration=task.iteration,
            client=task.client_id,
        )

    def _batches(self, task: TrainTask) -> NDArray[np.int64]:
        """Return the rows of every mini-batch, (steps, batch size), -1 where one is partial."""
        own, training = self._rows_of(task.client), self.job.training
        order = stream(
            self.job.seed,
            "batches",
            round=task.round,
            iteration=task.iteration,
            client=task.client_id,
        )
        # Clients trained together need batches of one width; else none is wider than its data.
        width = training.batch_size if self._batched else min(training.batch_size, len(own))
        per_epoch = -(-len(own) // width)
        rows = np.full((training.epochs, per_epoch * width), -1, dtype=np.int64)
        for epoch in rows:
            epoch[: len(own)] = own[order.permutation(len(own))]
        return rows.reshape(-1, width)

    def _descend(
        self,
        batches: NDArray[np.int64],
        learning_rate: float,
        correct: Callable[[], None] | None,
        contrast: Callable[[Tensor, Tensor], Tensor] | None,
    ) -> dict[str, float]:
        """Take one step per mini-batch; return the sums over examples that are needed."""
        job, module, parameters = self.job, self.network.module, self.network.parameters
        optimizer = _optimizer(parameters, job.training, learning_rate)
        of_losses = job.of_losses
        totals = dict.fromkeys(of_losses, 0.0)
        for rows in batches:
            x, y = self._gather(rows[rows >= 0])
            optimizer.zero_grad(set_to_none=True)
            with self._autocast():
                if contrast is None:
                    losses = objective = job.task.loss(module(x), y)
                else:
                    outputs, features = self.network.outputs_and_features(x)
                    losses = job.task.loss(outputs, y)
                    objective = losses + contrast(x, features)
            objective.mean().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            if correct is not None:
                correct()
            optimizer.step()
            for name in totals:
                totals[name] += float(of_losses[name](losses.detach().double()).sum())
        return totals

    def loss(
        self, model: NDArray[np.float32], client: int, rows: Sequence[int] | None = None
    ) -> float:
        """Return the mean loss of a model on a client's training examples, or some of them."""
        self._load_to_evaluate(model)
        own = self._rows_of(client)
        asked = own if rows is None else own[np.asarray(rows)]
        total = 0.0
        for start in range(0, len(asked), EVALUATION_BATCH):
            x, y = self._gather(asked[start : start + EVALUATION_BATCH])
            total += float(self._outputs(x, y)[1].double().sum())
        return total / len(asked)

    def evaluate(
        self, model: NDArray[np.float32], start: int, stop: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return the task's statistics and the loss for these rows of the test set."""
        self._load_to_evaluate(model)
        task = self.job.task
        statistics = np.empty((stop - start, len(task.statistics_names)))
        losses = np.empty(stop - start, dtype=np.float32)
        x = None
        for first in range(start, stop, EVALUATION_BATCH):
            rows = slice(first, min(first + EVALUATION_BATCH, stop))
            x = self._to_input(self._arrays["test_x"][rows], x)
            y = self._to_device(self._arrays["test_y"][rows])
            outputs, loss = self._outputs(x, y)
            place = slice(rows.start - start, rows.stop - start)
            statistics[place] = task.statistics(outputs, y).cpu().numpy()
            losses[place] = loss.cpu().numpy()
        return statistics, losses

    def _load_to_evaluate(self, model: NDArray[np.float32]) -> None:
        self.network.load(torch.from_numpy(model))
        self.network.module.eval()

    @torch.no_grad()
    def _outputs(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the network's outputs and the losses."""
        with self._autocast():
            outputs: Tensor = self.network.module(x)
            return outputs, self.job.task.loss(outputs, y).float()

    def _autocast(self) -> AbstractContextManager[object]:
        if self.job.precision == "fp32":
            return nullcontext()
        return torch.autocast(torch.device(self.job.device).type, dtype=torch.bfloat16)

    def _rows_of(self, client: int) -> NDArray[np.int64]:
        first, last = self._arrays["train_offsets"][client : client + 2]
        return np.asarray(self._arrays["train_indices"][first:last], dtype=np.int64)

    def _gather(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return training inputs and targets at these rows."""
        x = self._to_input(self._arrays["train_x"][rows])
        return x, self._to_device(self._arrays["train_y"][rows])

    def _to_input(self, stored: NDArray[np.generic], memory: Tensor | None = None) -> Tensor:
        """Return normalised inputs, in the memory of earlier ones if given: it is in the cache.

        Integers other than bytes are returned as they are.
        """
        given = self._to_device(stored)
        if self._is_raw:
            return given
        if memory is None:
            x = given.to(torch.float32, copy=True)  # the data is not ours to change
        else:
            x = memory[: len(stored)].copy_(given)
        x.mul_(self._scale).add_(self._offset)
        return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x

    def _to_device(self, stored: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(stored).to(self.job.device)


def _require_precision(precision: Precision, device: str) -> None:
    if device != "cpu" and not _exists(device):
        raise ConfigurationError(
            f"device must be one that torch sees here; got {device!r}: use cpu."
        )
    # Without the instructions oneDNN computes bfloat16 by way of float32, slower than float32.
    supported = device != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    if precision == "bf16" and not supported:
        raise ConfigurationError(
            "precision bf16 needs a processor with bfloat16 instructions; this one has none: "
            "use fp32."
        )


def _exists(device: str) -> bool:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # torch raises the latter where CUDA is not built in
        return False
    return True


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
