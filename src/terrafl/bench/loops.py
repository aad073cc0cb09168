"""The same training without any federation: ordinary PyTorch loops, one process, one thread.

``stock`` is the loop everybody writes. ``plain`` is the fastest loop around autograd that we
know: of the others here, with filters channels last, the one that is faster on the workload.
"""

import copy
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from terrafl.bench.workloads import MOMENTUM, WORKLOADS, benchmark_data
from terrafl.seeds import torch_stream
from terrafl.simulation.process import Message, serve

Batches = Iterator[tuple[Tensor, Tensor]]


def with_optimizer(
    model: nn.Module, batches: Batches, *, momentum: float = 0.0, fused: bool | None = None
) -> None:
    """Train as tutorials do."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=momentum, fused=fused)
    for x, y in batches:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        optimizer.step()


def foreach(model: nn.Module, batches: Batches) -> None:
    """Train without an optimizer object."""
    parameters: list[Tensor] = list(model.parameters())
    for x, y in batches:
        loss = functional.cross_entropy(model(x), y)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-0.01)


def gathered(x: Tensor, y: Tensor, epochs: int, batch_size: int) -> Batches:
    """Yield shuffled batches, gathered one by one."""
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(y)), batch_size):
            yield x[rows], y[rows]


def shuffled(x: Tensor, y: Tensor, epochs: int, batch_size: int) -> Batches:
    """Yield batches of an epoch that is shuffled in one go."""
    for _ in range(epochs):
        order = torch.randperm(len(y))
        yield from _batches(x[order], y[order], batch_size)


def _batches(x: Tensor, y: Tensor, size: int) -> Batches:
    return zip(torch.split(x, size), torch.split(y, size), strict=True)


LOOPS: dict[str, tuple[Callable[[nn.Module, Batches], None], Callable[..., Batches]]] = {
    "stock": (with_optimizer, gathered),
    "stock_momentum": (partial(with_optimizer, momentum=MOMENTUM), gathered),
    "fused": (partial(with_optimizer, fused=True), shuffled),
    "foreach": (foreach, shuffled),
}


class Loops:
    """Answers the messages of :mod:`terrafl.bench.engine`: one client, or one forward pass."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        dataset, _ = benchmark_data()
        scale, offset = dataset.normalisation.affine()
        self._x, self._test_x = (
            torch.from_numpy(part.x).float() * float(scale[0]) + float(offset[0])
            for part in (dataset.train, dataset.test)
        )
        self._y = torch.from_numpy(dataset.train.y)
        self._test_y = torch.from_numpy(dataset.test.y)
        with torch_stream(0, "model"):
            self._stock = {
                name: workload.model.build(
                    dataset.input_shape, dataset.labels("the benchmark").num_classes
                )
                for name, workload in WORKLOADS.items()
            }
        self._plain = {
            name: copy.deepcopy(model).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs forget it
            for name, model in self._stock.items()
        }
        self._weights = {
            name: {key: value.clone() for key, value in model.state_dict().items()}
            for name, model in self._stock.items()
        }

    def __call__(self, message: Message, answer: Callable[[Message], None]) -> None:
        """Train one client, or evaluate one chunk."""
        workload = WORKLOADS[message["workload"]]
        models = self._stock if message.get("loop", "").startswith("stock") else self._plain
        model = models[workload.name]
        if "rows" in message:
            model.load_state_dict(self._weights[workload.name])  # as received from a server
            rows: NDArray[np.int64] = np.array(message["rows"])
            train, batches = LOOPS[message["loop"]]
            train(model, batches(self._x[rows], self._y[rows], 2, workload.batch_size))
        else:
            part = slice(message["start"], message["stop"])
            with torch.no_grad():
                for x, y in _batches(self._test_x[part], self._test_y[part], 500):
                    (model(x).argmax(1) == y).sum().item()  # as an evaluation counts
        answer({})


if __name__ == "__main__":
    serve(Loops())
