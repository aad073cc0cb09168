"""Whole runs of every algorithm in float64, written the slow and obvious way.

The network is softmax regression. Who trains when is taken from a run's journal; mini-batches are
those of the run. Nothing here is shared with the package but the random order of examples.
"""

from dataclasses import dataclass, field

import numpy as np
from safetensors.numpy import load_file

from terrafl.experiments.assemble import federate
from terrafl.models.flat import FlatNetwork
from terrafl.runs import read_lines
from terrafl.seeds import stream

SETTINGS = {
    "dataset": "digits",
    "partition": {"name": "alpha-groups", "clients": 8, "alphas": [0.1, 1.0]},
    "model": "linear",
    "training": {"learning_rate": 0.05, "epochs": 2, "batch_size": 32},
    "rounds": 4,
    "clients_per_round": 5,
}
ADAPTIVE = {"beta1": 0.8, "beta2": 0.95, "tau": 0.01, "server_learning_rate": 0.02}
CASES = {
    "fedavg": {},
    "fedprox": {"mu": 0.5},
    "fedavgm": {"beta": 0.7, "server_learning_rate": 0.6},
    "fedadagrad": ADAPTIVE,
    "fedadam": ADAPTIVE,
    "fedyogi": ADAPTIVE,
    "fednova": {},
    "scaffold": {"server_learning_rate": 0.8},
    "feddyn": {"alpha": 0.3},
    "feddc": {"alpha": 0.3},
}


def vector(folder):
    """Return the final model of a run of softmax regression."""
    tensors = load_file(folder / "model.safetensors")
    return np.concatenate([tensors["head.weight"].ravel(), tensors["head.bias"]]).astype(float)


def initial(config):
    """Return the initial model of a run on digits."""
    network = FlatNetwork.build(config.model, (1, 8, 8), 10, seed=config.seed)
    return network.to_numpy().astype(float)


def softmax_gradient(weight, bias, x, y):
    scores = x @ weight.T + bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    errors = scores / scores.sum(axis=1, keepdims=True)
    errors[np.arange(len(y)), y] -= 1
    return np.concatenate([(errors.T @ x / len(y)).ravel(), errors.mean(axis=0)])


@dataclass
class World:
    """The clients of a configuration, and how they train."""

    config: object
    data: object = None
    x: list = field(default_factory=list)
    y: list = field(default_factory=list)

    def __post_init__(self):
        self.data = federate(self.config)
        dataset, parts = self.data.dataset, self.data.partition.train
        scale, offset = dataset.normalisation.affine()
        flat = dataset.train.x.reshape(len(dataset.train.x), -1).astype(float)
        flat = flat * float(scale[0]) + float(offset[0])
        self.ids = self.data.client_ids.tolist()
        self.x = {c: flat[parts[i]] for i, c in enumerate(self.ids)}
        self.y = {c: np.asarray(dataset.train.y)[parts[i]] for i, c in enumerate(self.ids)}
        self.sizes = {c: len(self.y[c]) for c in self.ids}
        self.outputs = dataset.num_classes

    def train(self, theta, client, round, iteration, extra=lambda y: 0.0):
        """Return the local model, the steps, and the sum of rate times gradient coefficients."""
        training = self.config.training
        order = stream(self.config.seed, "batches", round=round, iteration=iteration, client=client)
        y, velocity, steps = theta.copy(), np.zeros_like(theta), 0
        coefficient_sum, alive = 0.0, 0.0
        for _ in range(training.epochs):
            rows = order.permutation(self.sizes[client])
            for start in range(0, len(rows), training.batch_size):
                batch = rows[start : start + training.batch_size]
                weight, bias = y[: -self.outputs].reshape(self.outputs, -1), y[-self.outputs :]
                x, labels = self.x[client][batch], self.y[client][batch]
                gradient = softmax_gradient(weight, bias, x, labels)
                gradient = gradient + extra(y) + training.weight_decay * y
                velocity = training.momentum * velocity + gradient
                y = y - training.learning_rate * velocity
                steps += 1
                alive = training.momentum * alive + 1  # what one more gradient of 1 would move
                coefficient_sum += alive
        return y, steps, training.learning_rate * coefficient_sum


def schedule(folder):
    """Return (round, iteration, clients) of every cohort in a journal."""
    lines = read_lines(folder / "journal.jsonl")
    return [(e["round"], e["iteration"], e["clients"]) for e in lines if e["event"] == "cohort"]


def weights_of(world, clients):
    by_size = type(world.config.selector).averaging == "size"
    raw = np.array([world.sizes[c] if by_size else 1.0 for c in clients])
    return raw / raw.sum()


def share_of(world):
    by_size = type(world.config.selector).averaging == "size"
    total = sum(world.sizes.values())
    return {c: world.sizes[c] / total if by_size else 1 / len(world.ids) for c in world.ids}


def fedavg(world, theta, cohorts):
    for round, iteration, clients in cohorts:
        models = [world.train(theta, c, round, iteration)[0] for c in clients]
        theta = weights_of(world, clients) @ models
    return theta


def fedprox(world, theta, cohorts, mu):
    for round, iteration, clients in cohorts:
        models = [
            world.train(theta, c, round, iteration, lambda y, t=theta: mu * (y - t))[0]
            for c in clients
        ]
        theta = weights_of(world, clients) @ models
    return theta


def fedavgm(world, theta, cohorts, beta, server_learning_rate):
    velocity = 0
    for round, iteration, clients in cohorts:
        models = [world.train(theta, c, round, iteration)[0] for c in clients]
        delta = weights_of(world, clients) @ models - theta
        velocity = beta * velocity - delta
        theta = theta - server_learning_rate * velocity
    return theta


def adaptive(world, theta, cohorts, rule, *, beta1, beta2, tau, server_learning_rate):
    m, v = np.zeros_like(theta), np.full_like(theta, tau**2)
    for round, iteration, clients in cohorts:
        models = [world.train(theta, c, round, iteration)[0] for c in clients]
        delta = weights_of(world, clients) @ models - theta
        m = beta1 * m + (1 - beta1) * delta
        for i, square in enumerate(delta**2):
            if rule == "fedadagrad":
                v[i] = v[i] + square
            elif rule == "fedadam":
                v[i] = beta2 * v[i] + (1 - beta2) * square
            else:
                v[i] = v[i] - (1 - beta2) * square * np.sign(v[i] - square)
        theta = theta + server_learning_rate * m / (np.sqrt(v) + tau)
    return theta


def fednova(world, theta, cohorts, mu=0.0):
    training = world.config.training
    for round, iteration, clients in cohorts:
        results = [
            world.train(theta, c, round, iteration, lambda y, t=theta: mu * (y - t))
            for c in clients
        ]
        weights = weights_of(world, clients)
        norms = []
        for _, steps, step_sum in results:
            if mu:  # without momentum: a geometric sum
                shrink = 1 - training.learning_rate * mu
                norms.append(sum(shrink**t for t in range(steps)))
            else:
                norms.append(step_sum / training.learning_rate)
        effective = sum(w * a for w, a in zip(weights, norms, strict=True))
        theta = theta + effective * sum(
            w * (model - theta) / a
            for w, (model, _, _), a in zip(weights, results, norms, strict=True)
        )
    return theta


def scaffold(world, theta, cohorts, server_learning_rate=1.0):
    controls = {c: np.zeros_like(theta) for c in world.ids}
    for round, iteration, clients in cohorts:
        shares = share_of(world)
        c = sum(shares[k] * controls[k] for k in world.ids)
        models, new = [], {}
        for k in clients:
            y, _, step_sum = world.train(
                theta, k, round, iteration, lambda y, k=k, c=c: c - controls[k]
            )
            new[k] = controls[k] - c + (theta - y) / step_sum
            models.append(y)
        controls.update(new)
        mean = weights_of(world, clients) @ models
        theta = theta + server_learning_rate * (mean - theta)
    return theta


def feddyn(world, theta, cohorts, alpha, evaluate="average"):
    """The paper's own form, with gradients g_k and the server's h."""
    gradients = {c: np.zeros_like(theta) for c in world.ids}
    h, mean = np.zeros_like(theta), theta
    for round, iteration, clients in cohorts:
        models = []
        for k in clients:
            y, _, _ = world.train(
                theta, k, round, iteration, lambda y, k=k, t=theta: alpha * (y - t) - gradients[k]
            )
            gradients[k] = gradients[k] - alpha * (y - theta)
            models.append(y)
        h = h - alpha / len(world.ids) * sum(y - theta for y in models)
        mean = weights_of(world, clients) @ models
        theta = mean - h / alpha
    return mean if evaluate == "average" else theta


def feddc(world, theta, cohorts, alpha):
    drift = {c: np.zeros_like(theta) for c in world.ids}
    control = {c: np.zeros_like(theta) for c in world.ids}
    count, shares = len(world.ids), share_of(world)
    scale = {c: count * shares[c] for c in world.ids}
    for round, iteration, clients in cohorts:
        s = sum(scale[k] * control[k] for k in world.ids) / count
        models, new = [], {}
        for k in clients:

            def extra(y, k=k, s=s, t=theta):
                return alpha * (y - t + drift[k]) + s / scale[k] - control[k]

            y, _, step_sum = world.train(theta, k, round, iteration, extra)
            new[k] = control[k] - s / scale[k] - (y - theta) / step_sum
            models.append(y)
        for k, y in zip(clients, models, strict=True):
            drift[k] = drift[k] + y - theta
        control.update(new)
        theta = weights_of(world, clients) @ models + sum(drift.values()) / count
    return theta
