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

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from terrafl.algorithms import LocalStep
from terrafl.models import Layout
from terrafl.simulation.job import Job, Trained, Work
from terrafl.tasks import Classification

Gather = Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]

GROUP_SIZE = 4  # more clients at once gain little and leave less to share among workers
_STEPS_AT_ONCE = 64  # how many steps' inputs are gathered together
_MOST_PARAMETERS = 1_000_000
_LARGEST_BATCH = 64


def is_batchable(job: Job, module: nn.Module) -> bool:
    """Return whether this path serves the job, and wins.

    It serves classification by perceptrons under SGD; beyond a million parameters or mini-batches
    of 64 the arithmetic dominates and nothing is gained. A class derived from one of torch's may
    compute something else: exactly torch's own are served.
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
        and type(job.task) is Classification
        and not job.algorithm.uses_features
        and job.precision == "fp32"
        and job.device == "cpu"
        and job.training.optimizer == "sgd"
        and job.training.batch_size <= _LARGEST_BATCH
        and sum(p.numel() for p in module.parameters()) <= _MOST_PARAMETERS
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Tensor:
    """A weight or a bias of every client: views into the group's memory."""

    parameter: Tensor  # (group, outputs, inputs) or (group, 1, outputs)
    target: Tensor  # where its gradient is added
    received: Tensor  # the same for all clients
    shared: Mapping[str, Tensor]  # likewise
    given: Mapping[str, Tensor]  # one per client

    def step(self, gradient: Tensor) -> LocalStep[Tensor]:
        """Return what an algorithm may know of it."""
        return LocalStep(gradient, self.parameter, self.received, self.shared, self.given)

    def first(self, clients: int) -> "_Tensor":
        """Return the part of the first few clients."""
        given = {name: rows[:clients] for name, rows in self.given.items()}
        return replace(
            self, parameter=self.parameter[:clients], target=self.target[:clients], given=given
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """The models of the clients that take a step together."""

    vectors: Tensor  # (group, parameters)
    directions: Tensor  # torch's momentum buffers, likewise; without any, the vectors themselves
    layers: Sequence[tuple[_Tensor, _Tensor]]  # weight and bias

    def first(self, clients: int) -> "_Group":
        """Return the part of the first few clients."""
        if clients == len(self.vectors):
            return self
        return _Group(
            self.vectors[:clients],
            self.directions[:clients],
            [(weight.first(clients), bias.first(clients)) for weight, bias in self.layers],
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
        self._wanted = job.of_losses
        self._has_directions = bool(job.training.momentum or job.training.weight_decay)

    def train(
        self, work: Work, batches: Sequence[NDArray[np.int64]], gather: Gather
    ) -> list[Trained]:
        """Train the clients of a group from the received model.

        Parameters
        ----------
        work
            The clients.
        batches
            For each client the rows of its mini-batches, (steps, batch size); -1 fills up a
            partial one. Clients with more steps come first.
        gather
            Turns rows of the training set into inputs and labels.
        """
        started = time.perf_counter()
        counts = [len(rows) for rows in batches]
        vectors = torch.from_numpy(work.received).repeat(len(batches), 1)
        group = self._group(vectors, work)
        totals = torch.zeros(len(self._wanted), len(batches), dtype=torch.float64)
        rate = work.tasks[0].learning_rate
        with torch.no_grad():
            for step, (x, y, valid) in enumerate(_steps(batches, gather)):
                active = sum(count > step for count in counts)
                group = group.first(active)
                losses = self._step(group, x[:active], y[:active], valid[:active], rate)
                if losses is not None:
                    for total, function in zip(totals, self._wanted.values(), strict=True):
                        # A function need not be 0 at the loss 0 of a row that fills a batch up.
                        values = torch.where(valid[:active] > 0, function(losses), 0.0)
                        total[:active] += values.sum(1)
        seen = torch.tensor([int((rows >= 0).sum()) for rows in batches])
        means = (totals / seen).tolist()
        seconds = (time.perf_counter() - started) / len(batches)
        return [
            Trained(
                vector=vectors[i].numpy(),
                steps=count,
                measurements={n: mean[i] for n, mean in zip(self._wanted, means, strict=True)},
                duration_s=seconds,
            )
            for i, count in enumerate(counts)
        ]

    def _group(self, vectors: Tensor, work: Work) -> _Group:
        received = torch.from_numpy(work.received)
        shared = {name: torch.from_numpy(vector) for name, vector in work.shared.items()}
        given = {
            name: torch.from_numpy(np.stack([vectors[name] for vectors in work.given]))
            for name in work.given_to(0)
        }
        directions = torch.zeros_like(vectors) if self._has_directions else vectors
        tensors = []
        for entry in self._layout.parameters:
            shape = entry.shape if len(entry.shape) == 2 else (1, *entry.shape)
            parameter, target = (
                rows[:, entry.place].view(-1, *shape) for rows in (vectors, directions)
            )
            tensors.append(
                _Tensor(
                    parameter,
                    target,
                    received[entry.place].view(shape),
                    {name: vector[entry.place].view(shape) for name, vector in shared.items()},
                    {name: rows[:, entry.place].view(-1, *shape) for name, rows in given.items()},
                )
            )
        return _Group(vectors, directions, list(zip(tensors[::2], tensors[1::2], strict=True)))

    def _step(
        self, group: _Group, x: Tensor, y: Tensor, valid: Tensor, rate: float
    ) -> Tensor | None:
        """Take one step for every active client; return its losses if they are wanted."""
        activations: list[Tensor] = []
        scores = x
        for weight, bias in group.layers:
            activations.append(scores.relu_() if activations else x)
            scores = torch.baddbmm(
                bias.parameter, activations[-1], weight.parameter.transpose(1, 2)
            )
        losses = None
        if self._wanted:
            picked = scores.gather(2, y.unsqueeze(2)).squeeze(2)
            losses = ((scores.logsumexp(2) - picked) * valid).double()
        delta = torch.softmax(scores, dim=2)
        delta.scatter_add_(2, y.unsqueeze(2), torch.full((*y.shape, 1), -1.0))
        delta *= (valid / valid.sum(1, keepdim=True)).unsqueeze(2)
        for layer, below in zip(reversed(group.layers), reversed(activations), strict=True):
            # The layer below must get the error through the weights as they were.
            weights = layer[0].parameter
            through = None if below is x else torch.bmm(delta, weights).mul_(below > 0)
            self._add_gradients(layer, delta, below, rate)
            if through is not None:
                delta = through
        if self._has_directions:
            if self._job.training.weight_decay:
                group.directions.add_(group.vectors, alpha=self._job.training.weight_decay)
            group.vectors.add_(group.directions, alpha=-rate)
        return losses

    def _add_gradients(
        self, layer: tuple[_Tensor, _Tensor], delta: Tensor, below: Tensor, rate: float
    ) -> None:
        """Add a layer's gradients to its directions, or take the step at once without any.

        With momentum m, torch's SGD keeps m times the direction and adds the gradient. The
        product of matrices does both in one pass over memory, where most of the time goes; the
        gradient itself is stored only for an algorithm that corrects it.
        """
        algorithm = self._job.algorithm
        kept, scale = (self._job.training.momentum, 1.0) if self._has_directions else (1.0, -rate)
        weight, bias = layer
        gradients = [(bias, delta.sum(1, keepdim=True))]
        if algorithm.corrects_gradients:
            gradients.append((weight, torch.bmm(delta.transpose(1, 2), below)))
        else:
            weight.target.baddbmm_(delta.transpose(1, 2), below, beta=kept, alpha=scale)
        for tensor, gradient in gradients:
            corrected = (
                algorithm.correct_gradient(tensor.step(gradient))
                if algorithm.corrects_gradients
                else gradient
            )
            if self._has_directions:
                torch.add(corrected, tensor.target, alpha=kept, out=tensor.target)
            else:
                tensor.target.add_(corrected, alpha=-rate)


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
