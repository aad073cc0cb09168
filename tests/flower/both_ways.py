"""One federation run twice: by the simulator, and on Flower with nodes that train alike."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from flower_here import Node, local_grid

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

import terrafl
from terrafl.experiments.assemble import federate, job_of
from terrafl.flower import ClientSelection, answer, wire
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import TrainTask, Work, arrays_of

ROUNDS, CLIENTS, WIDTH, EPOCHS, SEED = 4, 20, 10, 2, 5


@dataclass(frozen=True)
class Both:
    """The run folders."""

    simulated: Path
    flower: Path


def run_both(selector, algorithm, base, guard, tmp_path):
    """Run both; parts are functions, since each run needs its own."""
    both = Both(tmp_path / "simulated", tmp_path / "flower")
    result = terrafl.run(
        dataset="digits",
        selector=selector(),
        algorithm=algorithm(),
        clients=CLIENTS,
        clients_per_round=WIDTH,
        rounds=ROUNDS,
        seed=SEED,
        # mini-batches beyond what is trained several clients at a time
        training={"learning_rate": 0.1, "epochs": EPOCHS, "batch_size": 65},
        guard=guard is not None,
        workers=1,
        out=both.simulated,
    )
    data = federate(result.config)
    with InProcess(job_of(result.config, data), arrays_of(data)) as executor:
        nodes = _Nodes(executor, data, result.config)
        ClientSelection(
            base(),
            selector(),
            clients_per_round=WIDTH,
            seed=SEED,
            guard=guard() if guard else None,
            epochs=EPOCHS,
            out=both.flower,
        ).start(
            local_grid(nodes.all()),
            _record(executor.layout.tensors(executor.initial_model)),
            num_rounds=ROUNDS,
            timeout=60,
            evaluate_fn=nodes.evaluate,
        )
    return both


def _record(tensors):
    return ArrayRecord({name: Array(np.ascontiguousarray(a)) for name, a in tensors.items()})


@dataclass
class _Nodes:
    """A node for every client, which trains and evaluates as the simulator would."""

    executor: InProcess
    data: object
    config: object

    def all(self):
        ids = self.data.client_ids.tolist()
        return {
            10**9 - position: Node(self.app(position), {"client-id": ids[position]})
            for position in range(len(ids))
        }

    def evaluate(self, number, arrays):
        """Evaluate on all test data, as the server's ``evaluate_fn``."""
        correct, losses = self.executor.evaluate(self.vector(arrays))
        loss = float(losses.mean(dtype=np.float64))
        return MetricRecord({"accuracy": float(correct.mean()), "loss": loss})

    def vector(self, arrays):
        flat = np.empty_like(self.executor.initial_model)
        for entry in self.executor.layout.parameters:
            flat[entry.place] = arrays[entry.name].numpy().ravel()
        return flat

    def app(self, position):
        executor, app = self.executor, ClientApp()
        size = int(self.data.sizes[position])

        @app.train()
        def train(message, context):
            asked = message.content["config"]
            rate = self.config.training.rate(asked[wire.ROUND])
            client = str(self.data.client_ids[position])
            task = TrainTask(position, client, asked[wire.ROUND], asked[wire.ITERATION], rate)
            (trained,) = executor.train(
                Work(received=self.vector(message.content["arrays"]), tasks=[task])
            )
            metrics = MetricRecord({"num-examples": size})
            for name, value in trained.measurements.items():
                metrics[f"train_{name}"] = value
            arrays = _record(executor.layout.tensors(trained.vector))
            return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

        @app.evaluate()
        def evaluate(message, context):
            correct, _ = executor.evaluate(self.vector(message.content["arrays"]))
            rows = self.data.partition.test[position]
            share = float(correct[rows].mean()) if len(rows) else 0.0
            # Each client that has test data counts the same, as in the simulator.
            metrics = MetricRecord({"num-examples": min(1, len(rows)), "accuracy": share})
            return Message(RecordDict({"metrics": metrics}), reply_to=message)

        def loss(message, context, rows):
            return executor.losses(self.vector(message.content["arrays"]), [(position, rows)])[0]

        answer(app, num_examples=lambda context: size, loss=loss)
        return app
