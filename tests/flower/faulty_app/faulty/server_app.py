"""A server whose strategy has momentum, so that going on without it would show."""

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvgM

from terrafl.defences.guard import Guard
from terrafl.flower import ClientSelection
from terrafl.selection import Terraform

app = ServerApp()


def evaluate(server_round, arrays):
    distance = sum(float(np.abs(array.numpy()).sum()) for array in arrays.values())
    return MetricRecord({"accuracy": 1 / (1 + distance)})


@app.main()
def main(grid, context):
    config = context.run_config
    shapes = {"body.weight": (6, 4), "body.bias": (6,), "head.weight": (3, 6), "head.bias": (3,)}
    draw = np.random.default_rng(0)
    initial = {k: Array(draw.normal(size=s).astype(np.float32)) for k, s in shapes.items()}
    ClientSelection(
        FedAvgM(fraction_evaluate=0.0, server_momentum=0.5, server_learning_rate=0.5),
        Terraform(eta=2, max_iterations=2),
        clients_per_round=int(config["clients-per-round"]),
        out=config["out"],
        identity=config["identity"],
        guard=Guard(retrainings=0),  # no budget: every round may have a second iteration
        wait_s=float(config["wait"]),
    ).start(
        grid,
        ArrayRecord(initial),
        num_rounds=int(config["num-rounds"]),
        timeout=float(config["timeout"]),
        evaluate_fn=evaluate,
    )
