"""Every algorithm against its slow float64 form, over whole runs with partial participation."""

import numpy as np
import pytest
import slow_rounds
import torch
from safetensors.numpy import load_file
from slow_rounds import CASES, SETTINGS, initial, vector

from terrafl.experiments.config import resolve
from terrafl.experiments.run import execute

# Terraform trains parts of a cohort again within a round and averages by size.
SELECTORS = {"terraform": {"name": "terraform", "eta": 2}, "random": {"name": "random"}}


def both(tmp_path, algorithm, settings, **changes):
    """Return the final model of a run, that of its reference, and the initial model."""
    config = resolve(SETTINGS | changes | {"algorithm": {"name": algorithm, **settings}})
    execute(config, tmp_path / "run")
    got = vector(tmp_path / "run")
    world = slow_rounds.World(config)
    start = initial(config)
    cohorts = slow_rounds.schedule(tmp_path / "run")
    if algorithm in ("fedadagrad", "fedadam", "fedyogi"):
        expected = slow_rounds.adaptive(world, start, cohorts, algorithm, **settings)
    else:
        expected = getattr(slow_rounds, algorithm)(world, start, cohorts, **settings)
    return got, expected, start


def assert_close(got, expected, start):
    moved = np.abs(expected - start).max()
    assert moved > 0.01
    assert np.abs(got - expected).max() < 2e-5 * max(1, moved)


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("algorithm", CASES)
def test_a_run_is_that_of_the_equations(algorithm, selector, tmp_path):
    result = both(tmp_path, algorithm, CASES[algorithm], selector=SELECTORS[selector])

    assert_close(*result)


@pytest.mark.parametrize("algorithm", ["fednova", "scaffold", "feddc"])
def test_momentum_counts_by_the_coefficients_of_the_gradients(algorithm, tmp_path):
    training = SETTINGS["training"] | {"momentum": 0.8, "weight_decay": 0.01}

    result = both(tmp_path, algorithm, CASES[algorithm], training=training, selector="random")

    assert_close(*result)


def test_fednova_normalises_a_proximal_term(tmp_path):
    assert_close(*both(tmp_path, "fednova", {"mu": 2.0}, selector="random"))


@pytest.mark.parametrize("algorithm", ["scaffold", "feddc"])
def test_plain_averaging_weighs_clients_alike_in_the_state_too(algorithm, tmp_path):
    result = both(tmp_path, algorithm, CASES[algorithm], selector="poc")

    assert_close(*result)


def test_feddyn_can_report_the_model_that_it_sends(tmp_path):
    result = both(tmp_path, "feddyn", {"alpha": 0.3, "evaluate": "sent"}, selector="random")

    assert_close(*result)


def test_moon_adds_its_contrastive_term(tmp_path):
    """Two clients, whole batches, one step a round: autograd on the published loss in float64."""
    settings = {
        "partition": {"name": "alpha-groups", "clients": 2, "alphas": [0.5]},
        "model": {"name": "mlp", "hidden": [24]},
        "training": {"learning_rate": 0.1, "epochs": 2, "batch_size": 10_000},
        "selector": "random",
        "clients_per_round": 2,
        "rounds": 3,
    }
    config = resolve(SETTINGS | settings | {"algorithm": {"name": "moon", "mu": 3.0}})
    execute(config, tmp_path / "run")
    world, theta, previous = slow_rounds.World(config), torch.tensor(initial(config)), {}

    def network(vector, x):
        w1, b1, w2, b2 = vector.split([24 * 64, 24, 10 * 24, 10])
        features = torch.relu(x @ w1.view(24, 64).T + b1)
        return features, features @ w2.view(10, 24).T + b2

    for _ in range(config.rounds):
        models = {}
        for client in world.ids:
            x, y = torch.tensor(world.x[client]), torch.tensor(world.y[client]).long()
            local = theta.clone()
            for _ in range(2):
                local.requires_grad_(True)
                z, scores = network(local, x)
                loss = torch.nn.functional.cross_entropy(scores, y)
                if client in previous:
                    near, far = (
                        torch.cosine_similarity(z, network(other, x)[0].detach())
                        for other in (theta, previous[client])
                    )
                    ours, theirs = torch.exp(near / 0.5), torch.exp(far / 0.5)
                    loss = loss - 3.0 * torch.log(ours / (ours + theirs)).mean()
                (gradient,) = torch.autograd.grad(loss, local)
                local = (local - 0.1 * gradient).detach()
            models[client] = local
        previous = models
        weights = slow_rounds.weights_of(world, world.ids)
        theta = sum(w * models[c] for w, c in zip(weights, world.ids, strict=True))

    execute(resolve(SETTINGS | settings | {"algorithm": "fedavg"}), tmp_path / "fedavg")
    got, without = (flat(tmp_path / name) for name in ("run", "fedavg"))
    assert np.abs(got - theta.numpy()).max() < 2e-5
    assert np.abs(got - without).max() > 1e-3


def flat(folder):
    """Return the final model of a run of a perceptron with one hidden layer."""
    tensors = load_file(folder / "model.safetensors")
    hidden = next(name.rpartition(".")[0] for name in tensors if not name.startswith("head"))
    names = [f"{layer}.{part}" for layer in (hidden, "head") for part in ("weight", "bias")]
    return np.concatenate([tensors[name].ravel() for name in names])
