"""The workload on FedJAX: one process, XLA's own threads."""

import fedjax
import haiku
import jax
from fashion_mnist import CLIENT_SIZE, federation, scaled
from workload import LEARNING_RATE, Stopwatch, from_command_line

jax.tree_map = jax.tree_util.tree_map  # FedJAX calls it by a name that JAX has dropped


def layers(name):
    linear, flat, relu = haiku.Linear, haiku.Flatten(), jax.nn.relu
    if name == "mlp":
        return [flat, linear(200), relu, linear(200), relu, linear(10)]
    pool = haiku.MaxPool((2, 2, 1), (2, 2, 1), "VALID")
    return [
        lambda x: x[..., None],
        haiku.Conv2D(32, 5),
        relu,
        pool,
        haiku.Conv2D(64, 5),
        relu,
        pool,
        flat,
        linear(512),
        relu,
        linear(10),
    ]


def model(name, examples):
    network = haiku.transform(lambda batch: haiku.Sequential(layers(name))(batch["x"]))
    return fedjax.create_model_from_haiku(
        network,
        examples,
        train_loss=lambda batch, out: fedjax.metrics.unreduced_cross_entropy_loss(batch["y"], out),
        eval_metrics={},
    )


def main():
    workload = from_command_line()
    images, labels = federation()
    data = fedjax.InMemoryFederatedData(
        {
            f"{i:03}": {"x": x, "y": y.astype("int32")}
            for i, (x, y) in enumerate(zip(images, labels, strict=True))
        }
    ).preprocess_client(lambda _, examples: examples | {"x": scaled(examples["x"])})
    sampler = fedjax.client_samplers.UniformGetClientSampler(
        data, workload.clients_per_round, seed=0
    )
    classifier = model(workload.name, {"x": scaled(images[0, :1]), "y": labels[0, :1]})
    batches = fedjax.ShuffleRepeatBatchHParams(workload.batch_size, num_epochs=workload.epochs)
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        fedjax.model_grad(classifier),
        client_optimizer=fedjax.optimizers.sgd(LEARNING_RATE),
        server_optimizer=fedjax.optimizers.sgd(1.0),
        client_batch_hparams=batches,
    )
    parameters = classifier.init(jax.random.PRNGKey(0))
    workload.check(fedjax.tree_util.tree_size(parameters))
    state = algorithm.init(parameters)
    # FedJAX runs epochs into each other and fills the last batch up.
    steps = -(-CLIENT_SIZE * workload.epochs // workload.batch_size)
    samples = workload.clients_per_round * steps * workload.batch_size
    stopwatch = Stopwatch()
    for _ in range(workload.rounds):
        state, _ = algorithm.apply(state, sampler.sample())
        jax.block_until_ready(state.params)
        stopwatch.round_done(samples)


if __name__ == "__main__":
    main()
