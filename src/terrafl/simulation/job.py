"""What anyone who trains clients of a run must know, as plain data that crosses processes."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import ALGORITHMS, Algorithm
from terrafl.data import FederatedData
from terrafl.errors import ConfigurationError
from terrafl.models import MODELS, Model
from terrafl.selection.needs import known, modules_of
from terrafl.settings import build, named, to_plain, to_plain_named
from terrafl.simulation.local_training import LocalTraining
from terrafl.tasks import TASKS, Classification, Task

Precision = Literal["fp32", "bf16"]
OnClientFailure = Literal["stop", "drop"]
"""``stop`` ends the run, which can be resumed; ``drop`` refuses the client, in the journal."""
Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The part of a run's configuration that local training and evaluation depend on."""

    model: Model
    algorithm: Algorithm
    training: LocalTraining
    input_shape: tuple[int, ...]
    num_outputs: int
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    seed: int
    needs: tuple[str, ...]
    precision: Precision = "fp32"
    device: str = "cpu"
    on_client_failure: OnClientFailure = "stop"
    task: Task = field(default_factory=Classification)

    @property
    def of_losses(self) -> dict[str, Callable[[Any], Any]]:  # Any: a torch tensor
        """The functions of the examples' losses whose means are needed, by name."""
        return {
            m.name: m.function
            for m in known().values()
            if m.name in self.needs and m.source == "client" and m.function is not None
        }

    def to_plain(self) -> dict[str, Any]:  # Any: what JSON can hold
        """Return the job as JSON values, for another process."""
        modules = modules_of(self.needs)
        if "__main__" in modules:
            raise ConfigurationError(
                "a measurement of the clients must be registered in a module that worker "
                "processes can import; got one in __main__: move it to a module, or use one worker."
            )
        parts = {
            "model": to_plain_named(self.model),
            "algorithm": to_plain_named(self.algorithm),
            "task": to_plain_named(self.task),
            "training": to_plain(self.training),
        }
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return values | parts | {"modules": modules}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:  # Any: what JSON can hold
        """Take up what :meth:`to_plain` returned."""
        values = dict(plain)
        for module in values.pop("modules"):  # they register measurements
            importlib.import_module(module)
        values["model"] = named(MODELS, plain["model"], "model")
        values["algorithm"] = named(ALGORITHMS, plain["algorithm"], "algorithm")
        values["task"] = named(TASKS, plain["task"], "task")
        values["training"] = build(LocalTraining, plain["training"], "training")
        for name in ("input_shape", "scale", "offset", "needs"):
            values[name] = tuple(plain[name])
        return cls(**values)


def arrays_of(data: FederatedData) -> Arrays:
    """Return the arrays that training and evaluation read, by name."""
    dataset, partition = data.dataset, data.partition
    return {
        "train_x": dataset.train.x,
        "train_y": dataset.train.y,
        "test_x": dataset.test.x,
        "test_y": dataset.test.y,
        "train_indices": partition.train.indices,
        "train_offsets": partition.train.offsets,
    }


def client_sizes(arrays: Arrays, tasks: Sequence["TrainTask"]) -> list[int]:
    """Return how many examples each task's client has."""
    offsets = arrays["train_offsets"]
    return [int(offsets[task.client + 1] - offsets[task.client]) for task in tasks]


@dataclass(frozen=True, slots=True)
class TrainTask:
    """One local training to be done.

    Parameters
    ----------
    client
        Position of the client in the population.
    client_id
        Its id, which keys its random streams.
    round, iteration
        When.
    learning_rate
        Step size of this round.
    """

    client: int
    client_id: str
    round: int
    iteration: int
    learning_rate: float


Vectors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """Clients to be trained from one model.

    Parameters
    ----------
    received
        The model to start from.
    tasks
        One per client.
    shared
        Vectors of the algorithm that all clients receive, by name.
    given
        Vectors that each client receives, by name; one mapping per task, or none at all.
    """

    received: NDArray[np.float32]
    tasks: Sequence[TrainTask]
    shared: Vectors = field(default_factory=dict)
    given: Sequence[Vectors] = ()

    def part(self, positions: Sequence[int]) -> Self:
        """Return the work of these tasks, in this order."""
        return replace(
            self,
            tasks=[self.tasks[i] for i in positions],
            given=[self.given[i] for i in positions] if self.given else (),
        )

    def given_to(self, position: int) -> Vectors:
        """Return what one client receives."""
        return self.given[position] if self.given else {}


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """One local training done, as an executor returns it.

    Parameters
    ----------
    vector
        The client's model; valid until the next training is asked for.
    steps
        Optimiser steps taken.
    measurements
        What was measured while training, by the names of a report's fields.
    duration_s
        Seconds it took.
    """

    vector: NDArray[np.float32]
    steps: int
    measurements: Mapping[str, float]
    duration_s: float

    def to_message(self) -> dict[str, Any]:  # Any: what JSON can hold
        """Return all but the vector, which travels in shared memory."""
        return {
            "steps": self.steps,
            "measurements": dict(self.measurements),
            "duration_s": self.duration_s,
        }
