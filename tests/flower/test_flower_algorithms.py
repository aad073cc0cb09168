"""terrafl's algorithms on Flower: a torch client with one helper line against the simulator."""

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from flower_here import Node, local_grid

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg
from safetensors.numpy import load_file

import terrafl
from terrafl.algorithms import ALGORITHMS
from terrafl.algorithms.server_average import ServerAverage
from terrafl.errors import ConfigurationError
from terrafl.experiments.assemble import federate
from terrafl.flower import ClientSelection, answer, follow, report, wire
from terrafl.models.flat import FlatNetwork
from terrafl.runs import read_lines
from terrafl.seeds import stream

pytestmark = pytest.mark.usefixtures("flower")

TRAINING = {"learning_rate": 0.05, "epochs": 2, "batch_size": 65, "momentum": 0.5}
SETTINGS = {
    "dataset": "digits",
    "clients": 8,
    "clients_per_round": 5,
    "rounds": 3,
    "seed": 3,
    "model": {"name": "mlp", "hidden": [12]},
    "training": TRAINING,
}
ALGORITHM_SETTINGS = {
    "fedprox": {"mu": 0.5},
    "fedavgm": {"beta": 0.5},
    "fedyogi": {},
    "fednova": {},
    "scaffold": {},
    "feddyn": {"alpha": 0.3},
    "feddc": {"alpha": 0.3},
}


@dataclass
class Clients:
    """Client apps with an ordinary torch loop, on the data and mini-batches of the simulator."""

    config: object
    wrong: dict = field(default_factory=dict)  # step sums of clients that lie, by position

    def __post_init__(self):
        self.data = federate(self.config)
        scale, offset = self.data.dataset.normalisation.affine()
        self.x = torch.from_numpy(
            self.data.dataset.train.x.astype(np.float32) * float(scale[0]) + float(offset[0])
        )
        self.y = torch.from_numpy(np.asarray(self.data.dataset.train.y)).long()
        self.initial = FlatNetwork.build(self.config.model, (1, 8, 8), 10, seed=self.config.seed)

    def arrays(self, module):
        return ArrayRecord(
            {k: Array(v.detach().numpy().copy()) for k, v in module.state_dict().items()}
        )

    def nodes(self):
        return {
            1000 + i: Node(self.app(i), {"client-id": name})
            for i, name in enumerate(self.data.client_ids.tolist())
        }

    def app(self, position):
        app, training = ClientApp(), self.config.training
        rows = np.asarray(self.data.partition.train[position])
        name = str(self.data.client_ids[position])

        @app.train()
        def train(message, context):
            asked = message.content["config"]
            model = self.config.model.build((1, 8, 8), 10)
            state = {k: torch.from_numpy(a.numpy()) for k, a in message.content["arrays"].items()}
            model.load_state_dict(state)
            correct = follow(message, model)
            optimizer = torch.optim.SGD(
                model.parameters(), lr=training.learning_rate, momentum=training.momentum
            )
            order = stream(
                self.config.seed,
                "batches",
                round=asked[wire.ROUND],
                iteration=asked[wire.ITERATION],
                client=name,
            )
            steps = 0
            for _ in range(training.epochs):
                for batch in np.array_split(
                    permuted := rows[order.permutation(len(rows))],
                    range(training.batch_size, len(permuted), training.batch_size),
                ):
                    optimizer.zero_grad()
                    scores = model(self.x[batch])
                    torch.nn.functional.cross_entropy(scores, self.y[batch]).backward()
                    correct()
                    optimizer.step()
                    steps += 1
            metrics = report(
                len(rows),
                steps=steps,
                learning_rate=training.learning_rate,
                momentum=training.momentum,
            )
            if position in self.wrong:
                metrics[wire.STEP_SUM] = self.wrong[position] or 0.0
            content = RecordDict({"arrays": self.arrays(model), "metrics": metrics})
            return Message(content, reply_to=message)

        answer(app, num_examples=lambda context: len(rows))
        return app

    def evaluate(self, number, arrays):
        test = self.data.dataset.test
        model = self.config.model.build((1, 8, 8), 10)
        model.load_state_dict({k: torch.from_numpy(a.numpy()) for k, a in arrays.items()})
        scale, offset = self.data.dataset.normalisation.affine()
        x = torch.from_numpy(test.x.astype(np.float32) * float(scale[0]) + float(offset[0]))
        right = model(x).argmax(1) == torch.from_numpy(np.asarray(test.y)).long()
        return MetricRecord({"accuracy": float(right.float().mean())})

    def start(self, out, algorithm, **options):
        return ClientSelection(
            FedAvg(fraction_evaluate=0.0),
            terrafl.Terraform(eta=2),
            clients_per_round=5,
            seed=self.config.seed,
            guard=None,
            epochs=2,
            out=out,
            algorithm=algorithm,
            **options,
        ).start(
            local_grid(self.nodes()),
            self.arrays(self.initial.module),
            num_rounds=3,
            timeout=60,
            evaluate_fn=self.evaluate,
        )


def config_of(algorithm):
    return terrafl.experiments.api.configure(
        selector=terrafl.Terraform(eta=2), algorithm=algorithm, **SETTINGS
    )


@pytest.mark.parametrize("name", ALGORITHM_SETTINGS)
def test_a_torch_client_with_one_line_trains_as_the_simulator(name, tmp_path):
    settings = ALGORITHM_SETTINGS[name]
    algorithm = {"name": name, **settings}
    terrafl.run(
        selector=terrafl.Terraform(eta=2),
        algorithm=algorithm,
        workers=1,
        out=tmp_path / "simulated",
        **SETTINGS,
    )
    clients = Clients(config_of(algorithm))
    clients.start(tmp_path / "flower", ALGORITHMS[name](**settings))

    simulated, flower = (
        load_file(tmp_path / kind / "model.safetensors") for kind in ("simulated", "flower")
    )
    for key, array in simulated.items():
        np.testing.assert_allclose(flower[key], array, atol=2e-5)
    cohorts = [
        [
            e["clients"]
            for e in read_lines(tmp_path / kind / "journal.jsonl")
            if e["event"] == "cohort"
        ]
        for kind in ("simulated", "flower")
    ]
    assert cohorts[0] == cohorts[1]
    labels = json.loads((tmp_path / "flower" / "summary.json").read_text())
    assert labels["algorithm"] == name


def test_a_run_with_state_and_average_resumes_to_the_same_bytes(tmp_path):
    def parts():
        return ALGORITHMS["scaffold"](), ServerAverage(half_life=10)

    clients = Clients(config_of("scaffold"))
    algorithm, average = parts()
    clients.start(tmp_path / "whole", algorithm, average=average)

    def dying(number, arrays):
        if number == 2:
            raise KeyboardInterrupt
        return real(number, arrays)

    real, clients.evaluate = clients.evaluate, dying
    algorithm, average = parts()
    with pytest.raises(KeyboardInterrupt):
        clients.start(tmp_path / "broken", algorithm, average=average)
    clients.evaluate = real
    algorithm, average = parts()
    clients.start(tmp_path / "broken", algorithm, average=average)

    for file in ("journal.jsonl", "model.safetensors", "summary.json"):
        broken = (tmp_path / "broken" / file).read_bytes()
        assert broken == (tmp_path / "whole" / file).read_bytes(), file
    points = json.loads((tmp_path / "whole" / "summary.json").read_text())["points"]
    assert all({"score_averaged", "score_raw"} <= point.keys() for point in points)


def test_what_clients_receive_counts_in_bytes_down(tmp_path):
    spent = {}
    for name in ("fedavg", "scaffold"):
        Clients(config_of(name)).start(tmp_path / name, ALGORITHMS[name]())
        spent[name] = json.loads((tmp_path / name / "summary.json").read_text())
    model = 4 * (64 * 12 + 12 + 12 * 10 + 10)

    scaffold = spent["scaffold"]
    assert scaffold["bytes_down"] == 3 * model * scaffold["client_updates"]  # model, c and c_k
    assert spent["fedavg"]["bytes_down"] == model * spent["fedavg"]["client_updates"]


@pytest.mark.parametrize("wrong", [None, -1.0, 1e-30])
def test_a_reply_with_wrong_steps_is_refused_and_the_others_count(wrong, tmp_path):
    clients = Clients(config_of("scaffold"), wrong={0: wrong})

    clients.start(tmp_path / "run", ALGORITHMS["scaffold"]())

    lines = list(read_lines(tmp_path / "run" / "journal.jsonl"))
    refused = [e for e in lines if e["event"] == "refused"]
    assert refused
    assert {e["client"] for e in refused} == {str(clients.data.client_ids[0])}
    reason = refused[0]["reason"]
    assert "step-sum must be from" in reason or "metrics must be" in reason
    model = load_file(tmp_path / "run" / "model.safetensors")
    assert all(np.isfinite(array).all() for array in model.values())


def test_moon_is_refused_with_the_reason():
    with pytest.raises(ConfigurationError, match=r"moon cannot run on Flower, since clients"):
        ClientSelection(
            FedAvg(), terrafl.Random(), clients_per_round=5, algorithm=ALGORITHMS["moon"]()
        )


def test_a_client_does_not_import_what_a_server_names():
    record = {"config": terrafl_config("os:system")}
    message = Message(RecordDict(record), 1, "train")

    with pytest.raises(ConfigurationError, match=r"the server runs 'os:system'"):
        follow(message, torch.nn.Linear(2, 2))


def terrafl_config(name):
    from flwr.app import ConfigRecord

    return ConfigRecord({wire.ALGORITHM: json.dumps({"name": name})})
