"""The server combines any Flower strategy with any selector."""

import flwr.serverapp.strategy as strategies
from flwr.app import ArrayRecord, MetricRecord
from flwr.serverapp import ServerApp

from digits_app.task import Net, evaluate, initial_model, test_data
from terrafl.flower import ClientSelection
from terrafl.selection import SELECTORS, Terraform

app = ServerApp()


def tested(server_round, arrays):
    model = Net()
    model.load_state_dict(arrays.to_torch_state_dict())
    loss, accuracy = evaluate(model, *test_data())
    return MetricRecord({"loss": loss, "accuracy": accuracy})


def selector_of(config):
    if config["selector"] == "terraform":
        return Terraform(eta=int(config["eta"]))
    return SELECTORS[config["selector"]]()


@app.main()
def main(grid, context):
    config = context.run_config
    base = getattr(strategies, config["strategy"])(fraction_evaluate=0.0)
    strategy = ClientSelection(
        base,
        selector_of(config),
        clients_per_round=int(config["clients-per-round"]),
        seed=int(config["seed"]),
        out=config["out"] or None,
        identity=config["identity"],
        epochs=int(config["local-epochs"]),
        dataset="digits",
        model="perceptron",
    )
    strategy.start(
        grid,
        ArrayRecord(initial_model(int(config["seed"])).state_dict()),
        num_rounds=int(config["num-rounds"]),
        timeout=float(config["timeout"]),
        evaluate_fn=tested,
    )
