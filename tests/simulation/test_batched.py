"""Clients trained together against clients trained one by one through autograd."""

import numpy as np
import pytest
from torch import nn

from terrafl.experiments.assemble import federate, job_of
from terrafl.experiments.config import resolve
from terrafl.simulation import trainer as trainers
from terrafl.simulation.batched import is_batchable
from terrafl.simulation.job import TrainTask, Work, arrays_of
from terrafl.simulation.trainer import Trainer

TASKS = [TrainTask(i, f"{i:02d}", 2, 1, 0.1) for i in (3, 0, 7, 5)]


def work(received, tasks):
    return Work(received=received, tasks=tasks, given=[{}] * len(tasks))


def both_ways(monkeypatch, **changes):
    """Train the tasks batched and one by one; return both lists of results."""
    config = resolve(
        {"partition": {"clients": 12}, "clients_per_round": 4, "selector": "oort", **changes}
    )
    data = federate(config)
    job, arrays = job_of(config, data), arrays_of(data)
    batched = Trainer(job, arrays)
    monkeypatch.setattr(trainers, "is_batchable", lambda job, module: False)
    single = Trainer(job, arrays)
    assert batched.group_size > 1
    assert single.group_size == 1
    received = batched.network.to_numpy()
    return batched.train(work(received, TASKS)), single.train(work(received, TASKS)), received


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": "linear"},
        {"model": {"name": "mlp", "hidden": [20, 30]}},
        {"algorithm": {"name": "fedprox", "mu": 0.5}},
        {"training": {"momentum": 0.9}},
        {"training": {"weight_decay": 0.01}},
        {"training": {"momentum": 0.9, "weight_decay": 0.01}},
        {"algorithm": {"name": "fedprox", "mu": 0.5}, "training": {"momentum": 0.9}},
        {"algorithm": {"name": "fedprox", "mu": 0.5}, "training": {"weight_decay": 0.01}},
        {"training": {"batch_size": 7, "epochs": 3}},
        {"training": {"batch_size": 64}},
        {
            "algorithm": "fedprox",
            "training": {"momentum": 0.9, "weight_decay": 0.01, "batch_size": 5},
        },
    ],
    ids=str,
)
def test_training_together_is_training_alone_up_to_rounding(monkeypatch, changes):
    together, alone, received = both_ways(monkeypatch, **changes)

    for one, other in zip(together, alone, strict=True):
        moved = np.abs(other.vector - received).max()
        assert moved > 1e-3
        assert np.abs(one.vector - other.vector).max() < 1e-4 * moved + 1e-6
        assert one.steps == other.steps
        assert one.measurements["squared_loss"] == pytest.approx(
            other.measurements["squared_loss"], rel=1e-4
        )


def test_the_order_of_tasks_in_a_group_does_not_reach_the_result():
    config = resolve({"partition": {"clients": 12}, "clients_per_round": 4})
    data = federate(config)
    trainer = Trainer(job_of(config, data), arrays_of(data))
    received = trainer.network.to_numpy()

    forward = trainer.train(work(received, TASKS))
    backward = trainer.train(work(received, TASKS[::-1]))[::-1]

    for one, other in zip(forward, backward, strict=True):
        assert np.allclose(one.vector, other.vector, rtol=0, atol=1e-6)
        assert one.steps == other.steps


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"optimizer": "adam"}},
        {"training": {"batch_size": 65}},
        {"model": {"name": "mlp", "hidden": [2000, 2000]}},
        {"model": "femnist-cnn"},
    ],
    ids=str,
)
def test_what_batching_does_not_serve_is_trained_one_by_one(changes):
    config = resolve({"partition": {"clients": 12}, "clients_per_round": 4, **changes})
    data = federate(config)

    trainer = Trainer(job_of(config, data), arrays_of(data))

    assert trainer.group_size == 1


class OwnForward(nn.Sequential):
    """Looks like a perceptron, and computes something else."""

    def forward(self, x):
        return -super().forward(x)


class OwnLinear(nn.Linear):
    """A layer that may compute anything."""


@pytest.mark.parametrize(
    ("module", "batchable"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(4, 2)), True),
        (OwnForward(nn.Flatten(), nn.Linear(4, 2)), False),
        (nn.Sequential(nn.Flatten(), OwnLinear(4, 2)), False),
        (nn.Sequential(), False),
    ],
    ids=["perceptron", "own forward", "own layer", "empty"],
)
def test_only_exact_perceptrons_are_trained_together(module, batchable):
    config = resolve({"partition": {"clients": 12}, "clients_per_round": 4})

    assert is_batchable(job_of(config, federate(config)), module) is batchable
