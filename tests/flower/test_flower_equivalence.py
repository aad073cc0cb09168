"""One seed, one federation: Flower and the simulator choose alike and end with one model."""

from pathlib import Path

import numpy as np
import pytest
from flower_here import Node, cohorts, local_grid

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, FedProx
from safetensors.numpy import load_file

import terrafl
from terrafl.defences.guard import Guard
from terrafl.experiments.assemble import federate, job_of
from terrafl.flower import ClientSelection, answer, wire
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import TrainTask, arrays_of

pytestmark = pytest.mark.usefixtures("flower")

ROUNDS, CLIENTS, WIDTH = 4, 20, 10

PAIRS = {
    "terraform, fedavg": (lambda: terrafl.Terraform(eta=2), terrafl.FedAvg, FedAvg),
    "terraform, fedprox": (
        lambda: terrafl.Terraform(eta=2),
        lambda: terrafl.FedProx(mu=0.1),
        lambda: FedProx(proximal_mu=0.1),
    ),
    "random, fedavg": (terrafl.Random, terrafl.FedAvg, FedAvg),
    "hbase, fedavg": (terrafl.HBase, terrafl.FedAvg, FedAvg),
    "poc, fedavg": (terrafl.PowerOfChoice, terrafl.FedAvg, FedAvg),
    "cpow-d, fedavg": (
        lambda: terrafl.PowerOfChoice(variant="cpow-d", sample_size=4),
        terrafl.FedAvg,
        FedAvg,
    ),
    "oort, fedavg": (terrafl.Oort, terrafl.FedAvg, FedAvg),
    "hics, fedavg": (terrafl.HiCSFL, terrafl.FedAvg, FedAvg),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_flower_and_the_simulator_agree(pair, tmp_path):
    agree(*PAIRS[pair], None, tmp_path)


def test_they_agree_under_the_guard_as_well(tmp_path):
    agree(*PAIRS["terraform, fedavg"], Guard, tmp_path)


def agree(selector, algorithm, base, guard, tmp_path):
    """Run both and compare who was chosen and what came out."""
    simulated = tmp_path / "simulated"
    result = terrafl.run(
        dataset="digits",
        selector=selector(),
        algorithm=algorithm(),
        clients=CLIENTS,
        clients_per_round=WIDTH,
        rounds=ROUNDS,
        seed=5,
        # mini-batches beyond what is trained several clients at a time
        training={"learning_rate": 0.1, "epochs": 2, "batch_size": 65},
        guard=guard is not None,
        workers=1,
        out=simulated,
    )
    data = federate(result.config)
    with InProcess(job_of(result.config, data), arrays_of(data)) as crew:
        nodes = nodes_of(crew, data, result.config)
        initial = record(crew.layout.tensors(crew.initial_model))
        ClientSelection(
            base(),
            selector(),
            clients_per_round=WIDTH,
            seed=5,
            guard=guard() if guard else None,
            out=tmp_path / "flower",
        ).start(local_grid(nodes), initial, num_rounds=ROUNDS, timeout=60)

    assert cohorts(tmp_path / "flower") == cohorts(simulated)
    assert len(cohorts(simulated)) >= ROUNDS
    ours, flowers = (
        load_file(Path(f) / "model.safetensors") for f in (simulated, tmp_path / "flower")
    )
    assert ours.keys() == flowers.keys()
    for name, array in ours.items():
        np.testing.assert_allclose(flowers[name], array, rtol=0, atol=1e-6)


def record(tensors):
    return ArrayRecord({name: Array(np.ascontiguousarray(a)) for name, a in tensors.items()})


def nodes_of(crew, data, config):
    """Return a node for every client, which trains as the simulator would."""
    ids, sizes = data.client_ids.tolist(), data.sizes.tolist()

    def vector(arrays):
        flat = np.empty_like(crew.initial_model)
        for entry in crew.layout.parameters:
            flat[entry.place] = arrays[entry.name].numpy().ravel()
        return flat

    def app_of(position):
        app = ClientApp()

        @app.train()
        def train(message, context):
            asked = message.content["config"]
            task = TrainTask(
                position,
                ids[position],
                asked[wire.ROUND],
                asked[wire.ITERATION],
                config.training.rate(asked[wire.ROUND]),
            )
            (trained,) = crew.train(vector(message.content["arrays"]), [task])
            metrics = MetricRecord({"num-examples": sizes[position]})
            for name, value in trained.measurements.items():
                metrics[f"train_{name}"] = value
            arrays = record(crew.layout.tensors(trained.vector))
            return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

        def loss(message, context, rows):
            return crew.losses(vector(message.content["arrays"]), [(position, rows)])[0]

        answer(app, num_examples=lambda context: sizes[position], loss=loss)
        return app

    return {
        10**9 - position: Node(app_of(position), {"client-id": ids[position]})
        for position in range(len(ids))
    }
