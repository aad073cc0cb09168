r"""Several clients' perceptrons trained at once, by batched matrix products.

A small network at a small batch size spends its time on the way into and out of torch, not in
arithmetic. Here the clients of a group take their steps together: client $g$'s weights are slice
$g$ of one tensor, and the gradient of the cross-entropy is written out,

.. math::
    \delta_L = (\mathrm{softmax}(z_L) - \mathrm{onehot}(y)) / b, \quad
    \delta_{l-1} = (\delta_l W_l) \odot [z_{l-1} > 0], \quad
    \nabla W_l = \delta_l^\top a_{l-1}, \quad \nabla b_l = \sum \delta_l

with $b$ the size of the client's own mini-batch. Mini-batches are those of the ordinary path;
results differ from it in the last bits, by the order of additions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from terrafl.models import Layout
from terrafl.simulation.job import OF_LOSSES, Job, Trained, TrainTask

__all__ = ["GROUP_SIZE", "BatchedTrainer", "is_batchable"]

Gather = Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]

GROUP_SIZE = 4  # more clients at once gain little and leave less to share among workers
_STEPS_AT_ONCE = 64  # how many steps' inputs are gathered together
_MOST_PARAMETERS = 1_000_000
_LARGEST_BATCH = 64


def is_batchable(job: Job, module: nn.Module) -> bool:
    """Return whether this path serves the job, and wins.

    It serves perceptrons under SGD; beyond a million parameters or mini-batches of 64 the
    arithmetic dominates and nothing is gained. A class derived from one of torch's may compute
    something else: exactly torch's own are served.
    """
    layers = list(module.children())
    kinds = [type(layer) for layer in layers]
    return (
        type(module) is nn.Sequential
        and kinds[:1] == [nn.Flatten]
        and all(kind is nn.Linear for kind in kinds[1::2])
        and all(layer.bias is not None for layer in layers[1::2])
        and all(kind is nn.ReLU for kind in kinds[2::2])
        and len(layers) % 2 == 0
        and job.precision == "fp32"
        and job.device == "cpu"
        and job.training.optimizer == "sgd"
        and job.training.batch_size <= _LARGEST_BATCH
        and sum(p.numel() for p in module.parameters()) <= _MOST_PARAMETERS
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """One linear layer of every client: views into the clients' vectors."""

    weight: Tensor  # (group, outputs, inputs)
    bias: Tensor  # (group, 1, outputs)
    weight_velocity: Tensor
    bias_velocity: Tensor
    received_weight: Tensor
    received_bias: Tensor

    def first(self, clients: int) -> _Layer:
        """Return the part of the first few clients."""
        if clients == len(self.weight):
            return self
        return _Layer(
            weight=self.weight[:clients],
            bias=self.bias[:clients],
            weight_velocity=self.weight_velocity[:clients],
            bias_velocity=self.bias_velocity[:clients],
            received_weight=self.received_weight,
            received_bias=self.received_bias,
        )


class BatchedTrainer:
    """Train groups of clients together.

    Parameters
    ----------
    job
        What to train; :func:`is_batchable` must hold.
    layout
        How a model lies in memory.
    """

    def __init__(self, job: Job, layout: Layout) -> None:
        self._job = job
        self._layout = layout
        training = job.training
        self._wanted = [name for name in OF_LOSSES if name in job.needs]
        self._plain = not (
            training.momentum or training.weight_decay or job.algorithm.corrects_gradients
        )

    def train(
        self,
        received: NDArray[np.float32],
        tasks: Sequence[TrainTask],
        batches: Sequence[NDArray[np.int64]],
        gather: Gather,
    ) -> list[Trained]:
        """Train the clients of a group from the received model.

        Parameters
        ----------
        received
            The global model.
        tasks
            One per client.
        batches
            For each client the rows of its mini-batches, (steps, batch size); -1 fills up a
            partial one. Clients with more steps come first.
        gather
            Turns rows of the training set into inputs and labels.
        """
        started = time.perf_counter()
        counts = [len(rows) for rows in batches]
        vectors = torch.from_numpy(received).repeat(len(tasks), 1)
        layers = self._layers(vectors, torch.from_numpy(received))
        totals = torch.zeros(len(self._wanted), len(tasks), dtype=torch.float64)
        with torch.no_grad():
            for step, (x, y, valid) in enumerate(_steps(batches, gather)):
                active = sum(count > step for count in counts)
                losses = self._step(
                    [layer.first(active) for layer in layers],
                    x[:active],
                    y[:active],
                    valid[:active],
                    tasks[0].learning_rate,
                )
                if losses is not None:
                    for total, name in zip(totals, self._wanted, strict=True):
                        total[:active] += OF_LOSSES[name](losses).sum(1)
        seen = torch.tensor([int((rows >= 0).sum()) for rows in batches])
        means = (totals / seen).tolist()
        seconds = (time.perf_counter() - started) / len(tasks)
        return [
            Trained(
                vector=vectors[i].numpy(),
                steps=count,
                measurements={n: mean[i] for n, mean in zip(self._wanted, means, strict=True)},
                duration_s=seconds,
            )
            for i, count in enumerate(counts)
        ]

    def _layers(self, vectors: Tensor, received: Tensor) -> list[_Layer]:
        group = len(vectors)
        velocities = torch.zeros(1 if self._plain else group, vectors.shape[1])
        entries = self._layout.parameters
        layers = []
        for weight, bias in zip(entries[::2], entries[1::2], strict=True):
            columns = (1, bias.shape[0])
            layers.append(
                _Layer(
                    weight=vectors[:, weight.place].view(group, *weight.shape),
                    bias=vectors[:, bias.place].view(group, *columns),
                    weight_velocity=velocities[:, weight.place].view(-1, *weight.shape),
                    bias_velocity=velocities[:, bias.place].view(-1, *columns),
                    received_weight=received[weight.place].view(weight.shape),
                    received_bias=received[bias.place].view(columns),
                )
            )
        return layers

    def _step(
        self,
        layers: Sequence[_Layer],
        x: Tensor,
        y: Tensor,
        valid: Tensor,
        rate: float,
    ) -> Tensor | None:
        """Take one step for every active client; return its losses if they are wanted."""
        activations = [x]
        for layer in layers[:-1]:
            scores = torch.baddbmm(layer.bias, activations[-1], layer.weight.transpose(1, 2))
            activations.append(scores.relu_())
        head = layers[-1]
        scores = torch.baddbmm(head.bias, activations[-1], head.weight.transpose(1, 2))
        losses = None
        if self._wanted:
            picked = scores.gather(2, y.unsqueeze(2)).squeeze(2)
            losses = ((scores.logsumexp(2) - picked) * valid).double()
        delta = torch.softmax(scores, dim=2)
        delta.scatter_add_(2, y.unsqueeze(2), torch.full((*y.shape, 1), -1.0))
        delta *= (valid / valid.sum(1, keepdim=True)).unsqueeze(2)
        for layer, below in zip(reversed(layers), reversed(activations), strict=True):
            # The layer below must hear of the error through the weights as they were.
            through = None if below is x else torch.bmm(delta, layer.weight).mul_(below > 0)
            self._descend(layer, delta, below, rate)
            if through is not None:
                delta = through
        return losses

    def _descend(self, layer: _Layer, delta: Tensor, below: Tensor, rate: float) -> None:
        """Take one step of SGD in a layer, as torch defines momentum and weight decay."""
        if self._plain:  # straight into the weights: no gradient is ever stored
            layer.weight.baddbmm_(delta.transpose(1, 2), below, alpha=-rate)
            layer.bias.add_(delta.sum(1, keepdim=True), alpha=-rate)
            return
        algorithm, training = self._job.algorithm, self._job.training
        for gradient, parameter, received, velocity in (
            (
                torch.bmm(delta.transpose(1, 2), below),
                layer.weight,
                layer.received_weight,
                layer.weight_velocity,
            ),
            (delta.sum(1, keepdim=True), layer.bias, layer.received_bias, layer.bias_velocity),
        ):
            corrected = algorithm.correct_gradient(gradient, parameter, received)
            corrected = corrected.add(parameter, alpha=training.weight_decay)
            velocity.mul_(training.momentum).add_(corrected)
            parameter.add_(velocity, alpha=-rate)


def _steps(
    batches: Sequence[NDArray[np.int64]], gather: Gather
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield inputs, labels and validity of each step, (group, batch size, ...)."""
    most = len(batches[0])
    rows = np.full((most, len(batches), batches[0].shape[1]), -1, dtype=np.int64)
    for i, own in enumerate(batches):
        rows[: len(own), i] = own
    for start in range(0, most, _STEPS_AT_ONCE):
        chunk = rows[start : start + _STEPS_AT_ONCE]
        # A partial batch is filled up with its own first example: nobody else's can spoil it.
        x, y = gather(np.where(chunk >= 0, chunk, chunk[:, :, :1]).ravel())
        xs = x.view(*chunk.shape, -1)
        ys = y.view(chunk.shape)
        valid = torch.from_numpy((chunk >= 0).astype(np.float32))
        yield from zip(xs, ys, valid, strict=True)
