"""The workload on terrafl, through its Python interface."""

from fashion_mnist import CLIENT_SIZE, NUM_CLIENTS
from workload import LEARNING_RATE, Stopwatch, from_command_line

import terrafl

MODELS = {"cnn": "femnist-cnn", "mlp": {"name": "mlp", "hidden": [200, 200]}}


def main():
    workload = from_command_line()
    samples = workload.clients_per_round * CLIENT_SIZE * workload.epochs
    stopwatch = Stopwatch()

    def report(done, planned, accuracy):
        if done < planned:
            stopwatch.round_done(samples)

    rounds = workload.rounds + 1  # the last round is always evaluated: it is not reported
    result = terrafl.run(
        dataset="fmnist",
        partition={"name": "iid", "clients": NUM_CLIENTS},
        model=MODELS[workload.name],
        training={
            "optimizer": "sgd",
            "learning_rate": LEARNING_RATE,
            "momentum": 0.0,
            "weight_decay": 0.0,
            "epochs": workload.epochs,
            "batch_size": workload.batch_size,
        },
        selector="random",
        algorithm="fedavg",
        clients_per_round=workload.clients_per_round,
        rounds=rounds,
        eval_every=rounds,
        workers=workload.processes,
        on_round=report,
    )
    if result.summary.samples_trained != rounds * samples:
        raise SystemExit(f"{result.summary.samples_trained} samples were trained in all.")


if __name__ == "__main__":
    main()
