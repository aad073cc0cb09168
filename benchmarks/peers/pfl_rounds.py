"""The workload on pfl: its distributed simulation, started by torchrun, one thread a process."""

import os

import torch
from fashion_mnist import NUM_CLIENTS, client
from networks import network, num_parameters
from pfl.aggregate.base import get_num_datapoints_weight_name
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm import FederatedAveraging, NNAlgorithmParams
from pfl.callback.base import TrainingProcessCallback
from pfl.common_types import Population
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import nn
from torch.nn import functional
from workload import LEARNING_RATE, Stopwatch, from_command_line


class Classifier(nn.Module):
    """A network with the loss and metrics that pfl asks a module for."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def loss(self, x, y):
        return functional.cross_entropy(self.inner(x), y)

    def metrics(self, x, y):
        return {}  # pfl always evaluates its first round: let it cost nothing


class Report(TrainingProcessCallback):
    def __init__(self, epochs):
        self._epochs = epochs
        self._stopwatch = Stopwatch()

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        examples = aggregate_metrics[get_num_datapoints_weight_name(Population.TRAIN)]
        if os.environ["RANK"] == "0":
            self._stopwatch.round_done(round(examples.weighted_value) * self._epochs)
        return False, Metrics()


def dataset(number):
    return PyTorchTensorDataset(tuple(map(torch.from_numpy, client(number))), user_id=str(number))


def main():
    workload = from_command_line()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = Classifier(network(workload.name))
    workload.check(num_parameters(module))
    model = PyTorchModel(
        module,
        local_optimizer_create=torch.optim.SGD,
        central_optimizer=torch.optim.SGD(module.parameters(), lr=1.0),
    )
    users = FederatedDataset(dataset, get_user_sampler("minimize_reuse", list(range(NUM_CLIENTS))))
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=workload.rounds,
            evaluation_frequency=workload.rounds,
            train_cohort_size=workload.clients_per_round,
            val_cohort_size=0,
        ),
        SimulatedBackend(training_data=users, val_data=users),
        model,
        NNTrainHyperParams(
            local_num_epochs=workload.epochs,
            local_learning_rate=LEARNING_RATE,
            local_batch_size=workload.batch_size,
        ),
        callbacks=[Report(workload.epochs)],
    )


if __name__ == "__main__":
    main()
