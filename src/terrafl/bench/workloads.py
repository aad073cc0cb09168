"""The workloads: Fashion-MNIST, 100 clients of 600, 15 a round, 2 epochs of SGD."""

from dataclasses import dataclass

from terrafl.algorithms import FedAvg
from terrafl.data import Dataset, Examples, Iid, Normalisation, load
from terrafl.errors import DataError
from terrafl.experiments.config import RunConfig
from terrafl.models import FEMNISTCNN, MLP, Model
from terrafl.seeds import stream
from terrafl.selection import Random
from terrafl.simulation.local_training import LocalTraining

MOMENTUM = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is trained.

    Parameters
    ----------
    name
        On the command line.
    model
        The network.
    batch_size
        Of local SGD.
    with_momentum
        Whether it is measured with momentum too.
    """

    name: str
    model: Model
    batch_size: int
    with_momentum: bool = False

    def config(self, momentum: float = 0.0) -> RunConfig:
        """Return the run that the engine is measured on."""
        return RunConfig(
            dataset="fmnist",
            partition=Iid(clients=100),
            model=self.model,
            selector=Random(),
            algorithm=FedAvg(),
            training=LocalTraining(
                optimizer="sgd",
                learning_rate=0.01,
                epochs=2,
                batch_size=self.batch_size,
                momentum=momentum,
            ),
            rounds=1_000_000,  # never reached: rounds are run one by one
            clients_per_round=15,
            eval_every=1_000_000,
        )


WORKLOADS = {
    "cnn": Workload(name="cnn", model=FEMNISTCNN(), batch_size=64),
    "mlp": Workload(name="mlp", model=MLP(hidden=(200, 200)), batch_size=10, with_momentum=True),
}


def benchmark_data() -> tuple[Dataset, str]:
    """Return Fashion-MNIST, or noise of its shape where it is not found, and which it is."""
    generator = stream(0, "data")
    try:
        return load("fmnist", generator=generator), "Fashion-MNIST"
    except DataError:
        train, test = (
            Examples(
                generator.integers(0, 256, (n, 1, 28, 28), dtype="uint8"),
                generator.integers(0, 10, n),
            )
            for n in (60_000, 10_000)
        )
        noise = Dataset(
            name="noise",
            train=train,
            test=test,
            num_classes=10,
            normalisation=Normalisation(255.0, (0.5,), (0.5,)),
        )
        return noise, "noise in the shape of Fashion-MNIST"
