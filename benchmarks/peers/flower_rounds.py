"""The workload on Flower's simulation: Ray, one actor with one CPU per process asked for."""

import torch
from fashion_mnist import NUM_CLIENTS, client
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from networks import network, num_parameters
from torch.nn import functional
from workload import LEARNING_RATE, Stopwatch, from_command_line


def client_app(workload):
    app = ClientApp()

    @app.train()
    def train(message, context):
        torch.set_num_threads(1)
        model = network(workload.name)
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        x, y = map(torch.from_numpy, client(int(context.node_config["partition-id"])))
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
        samples = 0
        for _ in range(workload.epochs):
            for rows in torch.randperm(len(y)).split(workload.batch_size):
                optimizer.zero_grad()
                functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
                samples += len(rows)
        metrics = MetricRecord({"num-examples": len(y), "samples": samples})
        answer = {"arrays": ArrayRecord(model.state_dict()), "metrics": metrics}
        return Message(RecordDict(answer), reply_to=message)

    return app


class TimedFedAvg(FedAvg):
    """FedAvg that reports its rounds and stands no failed client."""

    def __init__(self, workload):
        super().__init__(
            fraction_train=workload.clients_per_round / NUM_CLIENTS,
            fraction_evaluate=0.0,
            min_available_nodes=NUM_CLIENTS,
        )
        self._stopwatch = Stopwatch()

    def aggregate_train(self, server_round, replies):
        replies = list(replies)
        for reply in replies:
            if reply.has_error():
                raise RuntimeError(f"a client failed: {reply.error.reason}")
        aggregated = super().aggregate_train(server_round, replies)
        samples = sum(reply.content["metrics"]["samples"] for reply in replies)
        self._stopwatch.round_done(samples)
        return aggregated


def server_app(workload):
    app = ServerApp()

    @app.main()
    def main(grid, context):
        model = network(workload.name)
        workload.check(num_parameters(model))
        strategy = TimedFedAvg(workload)
        strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=workload.rounds)

    return app


if __name__ == "__main__":
    workload = from_command_line()
    run_simulation(
        server_app(workload),
        client_app(workload),
        num_supernodes=NUM_CLIENTS,
        backend_config={
            "init_args": {"num_cpus": workload.processes},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
