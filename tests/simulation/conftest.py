"""Small federations: one made of numbers, one of digits."""

import re
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from executing import train

from terrafl.algorithms import FedAvg
from terrafl.data import Dataset, Examples, FederatedData, Normalisation, Partition, Ragged
from terrafl.experiments.config import resolve
from terrafl.federation.loop import Loop
from terrafl.federation.plan import Plan
from terrafl.federation.record import Record
from terrafl.federation.state import RunState
from terrafl.models import Linear
from terrafl.runs import RunFolder, read_lines
from terrafl.selection import Random
from terrafl.simulation.federation import SimulatedFederation
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import Job, TrainTask, arrays_of
from terrafl.simulation.local_training import LocalTraining
from terrafl.tasks import Classification

NUM_FEATURES, NUM_CLASSES = 4, 3


def some_examples(count, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, 1, NUM_FEATURES)).astype(np.float32)
    return x, generator.integers(0, NUM_CLASSES, size=count)


def a_federation(train, test=None, normalisation=None):
    """Return a federation of clients a, b, c, ... from one (x, y) for each."""
    ids = np.array([chr(ord("a") + i) for i in range(len(train))])
    test = test or [some_examples(3, seed=100 + i) for i in range(len(train))]

    def joined(parts):
        x, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        starts = np.cumsum([0, *(len(labels) for _, labels in parts)])
        rows = [np.arange(a, b) for a, b in pairwise(starts)]
        return Examples(x.astype(np.float32), y.astype(np.int64)), Ragged.of(rows)

    (train_examples, train_rows), (test_examples, test_rows) = joined(train), joined(test)
    dataset = Dataset(
        name="made up",
        train=train_examples,
        test=test_examples,
        num_classes=NUM_CLASSES,
        normalisation=normalisation or Normalisation(),
    )
    return FederatedData(dataset, Partition(client_ids=ids, train=train_rows, test=test_rows))


@dataclass
class Client:
    """One client with the given examples, and whoever trains it."""

    x: object
    y: object
    training: LocalTraining
    algorithm: object = field(default_factory=FedAvg)

    def train(self, received=None, *, round=0, iteration=0):
        data = a_federation([(self.x, self.y)])
        with InProcess(a_job(data, self.training, self.algorithm), arrays_of(data)) as crew:
            start = crew.initial_model if received is None else received
            rate = self.training.rate(round)
            (trained,) = train(crew, [TrainTask(0, "a", round, iteration, rate)], start)
            tensors = crew.layout.tensors
            before, after = (
                (tensors(v)["head.weight"].astype(float), tensors(v)["head.bias"].astype(float))
                for v in (start, trained.vector.copy())
            )
            return before, after, trained


def a_job(data, training, algorithm=None, *, model=None, seed=0, needs=("loss", "squared_loss")):
    dataset = data.dataset
    scale, offset = dataset.normalisation.affine()
    return Job(
        model=model or Linear(),
        algorithm=algorithm or FedAvg(),
        training=training,
        input_shape=dataset.input_shape,
        num_outputs=Classification().num_outputs(dataset),
        scale=tuple(scale.tolist()),
        offset=tuple(offset.tolist()),
        seed=seed,
        needs=tuple(sorted(needs)),
    )


@dataclass
class Played:
    """A run of rounds, and what it left behind."""

    state: RunState
    initial: object
    layout: object
    events: list

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]


@pytest.fixture
def play(tmp_path):
    """Play rounds on a federation."""

    def played(data, *, selector=None, algorithm=None, training=None, defences=None, **plan):
        selector, algorithm = selector or Random(), algorithm or FedAvg()
        training = training or LocalTraining(epochs=1, batch_size=4)
        seed = plan.setdefault("seed", 0)
        plan.setdefault("clients_per_round", len(data.client_ids))
        job = a_job(data, training, algorithm, seed=seed, needs=selector.needs)
        path = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        with (
            RunFolder(path) as folder,
            InProcess(job, arrays_of(data)) as crew,
            Record(folder) as record,
        ):
            initial = crew.initial_model.copy()
            loop = Loop(
                plan=Plan(**{"num_rounds": 1} | plan),
                federation=SimulatedFederation(
                    data=data, executor=crew, training=training, seed=seed
                ),
                selector=selector,
                algorithm=algorithm,
                record=record,
                initial_model=crew.initial_model,
                **defences or {},
            )
            loop.run()
        return Played(loop.state, initial, crew.layout, list(read_lines(folder.journal)))

    return played


@pytest.fixture
def locally():
    """Train clients of a federation from a model, one by one."""

    def trained(data, received, training, *, clients, round=0, iteration=0, seed=0):
        with InProcess(a_job(data, training, seed=seed), arrays_of(data)) as crew:
            tasks = [
                TrainTask(
                    int(np.searchsorted(data.client_ids, c)),
                    c,
                    round,
                    iteration,
                    training.rate(round),
                )
                for c in clients
            ]
            return [np.array(result.vector) for result in train(crew, tasks, received)]

    return trained


@pytest.fixture(scope="session")
def federation():
    return a_federation


@pytest.fixture(scope="session")
def examples():
    return some_examples


@pytest.fixture(scope="session")
def client():
    return Client


@pytest.fixture(scope="session")
def job():
    return a_job


TINY = {
    "dataset": "digits",
    "partition": {"name": "alpha-groups", "clients": 12, "alphas": [0.1, 1.0]},
    "model": "linear",
    "training": {"learning_rate": 0.05, "epochs": 1, "batch_size": 32},
    "rounds": 3,
    "clients_per_round": 8,
}


@pytest.fixture(scope="session")
def tiny():
    """Return the configuration of a run that takes a twentieth of a second."""
    return lambda **changes: resolve(TINY, changes)


@pytest.fixture(scope="session")
def written():
    """Return what a run wrote that equal runs write equally."""

    def read(folder):
        names = ("config.toml", "journal.jsonl", "model.safetensors", "summary.json")
        files = {name: (folder / name).read_bytes() for name in names}
        # A commit that is made while the tests run is no difference between the runs.
        return {name: re.sub(rb'commit"?[:=\s"]+\w{40}', b"", files[name]) for name in names}

    return read
