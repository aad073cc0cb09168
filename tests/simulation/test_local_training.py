"""What a client does between two uploads, recomputed by hand in double precision."""

import numpy as np
import pytest
import torch
from executing import train

from terrafl.algorithms import FedProx
from terrafl.data import Normalisation
from terrafl.errors import ConfigurationError
from terrafl.models import FMNISTCNN, MLP
from terrafl.simulation.in_process import InProcess
from terrafl.simulation.job import Job, TrainTask, arrays_of
from terrafl.simulation.local_training import LearningRateDecay, LocalTraining


def per_example_losses(theta, x, y):
    weight, bias = theta
    scores = x.reshape(len(y), -1).astype(float) @ weight.T + bias
    return np.log(np.exp(scores).sum(axis=1)) - scores[range(len(y)), y]


def gradient(theta, x, y):
    """Return the gradient of the mean cross-entropy of softmax regression."""
    weight, bias = theta
    flat = x.reshape(len(y), -1).astype(float)
    scores = np.exp(flat @ weight.T + bias)
    errors = scores / scores.sum(axis=1, keepdims=True)
    errors[range(len(y)), y] -= 1
    return errors.T @ flat / len(y), errors.mean(axis=0)


# Up to 64 examples in a batch, perceptrons are trained several at a time; beyond, one by one.
both_ways = pytest.mark.parametrize("batch_size", [64, 65])


def close(theta, other):
    return all(a == pytest.approx(b, abs=2e-6) for a, b in zip(theta, other, strict=True))


def descend(theta, x, y, steps, rate, *, correct=lambda gradients, theta: gradients):
    for _ in range(steps):
        gradients = correct(gradient(theta, x, y), theta)
        theta = tuple(p - rate * g for p, g in zip(theta, gradients, strict=True))
    return theta


@both_ways
def test_one_full_batch_is_one_step_of_gradient_descent(client, examples, batch_size):
    x, y = examples(7, seed=1)

    before, after, trained = client(
        x, y, LocalTraining(learning_rate=0.3, epochs=1, batch_size=batch_size)
    ).train()

    assert close(after, descend(before, x, y, 1, 0.3))
    assert trained.steps == 1


@both_ways
def test_every_epoch_is_another_pass(client, examples, batch_size):
    x, y = examples(7, seed=1)

    before, after, trained = client(
        x, y, LocalTraining(learning_rate=0.3, epochs=3, batch_size=batch_size)
    ).train()

    assert close(after, descend(before, x, y, 3, 0.3))
    assert trained.steps == 3


def test_the_last_partial_batch_is_trained_too(client, examples):
    # Five copies of one example, in batches of 2, 2 and 1: any order gives the same three steps.
    x, y = examples(1, seed=2)
    copies = np.repeat(x, 5, axis=0), np.repeat(y, 5)

    before, after, trained = client(
        *copies, LocalTraining(learning_rate=0.2, epochs=1, batch_size=2)
    ).train()

    assert trained.steps == 3
    assert close(after, descend(before, x, y, 3, 0.2))


def test_batches_cover_every_example_once_per_epoch(client, examples):
    # At this rate steps hardly move the model, so their sum is that of the examples' gradients.
    x, y = examples(12, seed=3)

    before, after, _ = client(
        x, y, LocalTraining(learning_rate=1e-3, epochs=1, batch_size=4)
    ).train()

    assert all(
        (p - q) / 1e-3 == pytest.approx(3 * g, rel=0.01, abs=1e-3)
        for p, q, g in zip(before, after, gradient(before, x, y), strict=True)
    )


@both_ways
def test_momentum_and_weight_decay_are_those_of_sgd(client, examples, batch_size):
    x, y = examples(6, seed=4)
    training = LocalTraining(
        learning_rate=0.2, momentum=0.9, weight_decay=0.1, epochs=3, batch_size=batch_size
    )

    before, after, _ = client(x, y, training).train()

    theta, velocity = before, (0.0, 0.0)
    for _ in range(3):
        decayed = [g + 0.1 * p for g, p in zip(gradient(theta, x, y), theta, strict=True)]
        velocity = tuple(0.9 * v + g for v, g in zip(velocity, decayed, strict=True))
        theta = tuple(p - 0.2 * v for p, v in zip(theta, velocity, strict=True))
    assert close(after, theta)


def test_adam_is_adam(client, examples):
    x, y = examples(6, seed=5)
    training = LocalTraining(optimizer="adam", learning_rate=0.01, epochs=3, batch_size=6)

    before, after, _ = client(x, y, training).train()

    theta, mean, square = before, [0.0, 0.0], [0.0, 0.0]
    for step in (1, 2, 3):
        moved = []
        for i, g in enumerate(gradient(theta, x, y)):
            mean[i] = 0.9 * mean[i] + 0.1 * g
            square[i] = 0.999 * square[i] + 0.001 * g**2
            direction = mean[i] / (1 - 0.9**step)
            length = np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8
            moved.append(theta[i] - 0.01 * direction / length)
        theta = tuple(moved)
    assert all(a == pytest.approx(b, abs=1e-5) for a, b in zip(after, theta, strict=True))


@both_ways
def test_fedprox_pulls_every_step_towards_the_received_model(client, examples, batch_size):
    x, y = examples(6, seed=6)
    training = LocalTraining(learning_rate=0.3, epochs=4, batch_size=batch_size)

    before, after, _ = client(x, y, training, FedProx(mu=0.7)).train()

    def proximal(gradients, theta):
        return [g + 0.7 * (p - p0) for g, p, p0 in zip(gradients, theta, before, strict=True)]

    assert close(after, descend(before, x, y, 4, 0.3, correct=proximal))
    assert not close(after, descend(before, x, y, 4, 0.3))


@both_ways
def test_losses_are_means_over_the_examples_as_they_were_seen(client, examples, batch_size):
    x, y = examples(7, seed=7)

    before, _, trained = client(
        x, y, LocalTraining(learning_rate=0.3, epochs=2, batch_size=batch_size)
    ).train()

    seen = np.concatenate(
        [per_example_losses(descend(before, x, y, steps, 0.3), x, y) for steps in (0, 1)]
    )
    assert trained.measurements["loss"] == pytest.approx(seen.mean(), rel=1e-6)
    assert trained.measurements["squared_loss"] == pytest.approx((seen**2).mean(), rel=1e-6)


@both_ways
def test_the_proximal_term_is_not_part_of_the_loss_that_is_reported(client, examples, batch_size):
    x, y = examples(7, seed=7)
    training = LocalTraining(learning_rate=1e-9, epochs=1, batch_size=batch_size)

    before, _, trained = client(x, y, training, FedProx(mu=1e6)).train()

    assert trained.measurements["loss"] == pytest.approx(
        per_example_losses(before, x, y).mean(), rel=1e-6
    )


@both_ways
def test_a_perceptron_learns_by_back_propagation(federation, examples, job, batch_size):
    data, training = federation([examples(7, seed=1)]), LocalTraining(batch_size=batch_size)
    x, y = (torch.from_numpy(a) for a in (data.dataset.train.x, data.dataset.train.y))

    with InProcess(job(data, training, model=MLP(hidden=(6, 5))), arrays_of(data)) as crew:
        (trained,) = train(crew, [TrainTask(0, "a", 0, 0, 0.2)])
        start, end = crew.layout.tensors(crew.initial_model), crew.layout.tensors(trained.vector)

    network = MLP(hidden=(6, 5)).build((1, 4), 3).double()
    network.load_state_dict({name: torch.from_numpy(part) for name, part in start.items()})
    for _ in range(training.epochs):
        network.zero_grad()
        torch.nn.functional.cross_entropy(network(x.double()), y).backward()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.sub_(0.2 * parameter.grad)
    for name, parameter in network.named_parameters():
        assert end[name] == pytest.approx(parameter.detach().numpy(), abs=2e-6)


def test_clients_trained_together_do_not_hear_of_each_other(federation, examples, job):
    # Of unlike sizes, so that some end earlier and most have a partial batch.
    data = federation([examples(n, seed=n) for n in (10, 3, 7, 1, 12)])
    training = LocalTraining(epochs=2, batch_size=4, momentum=0.5)
    tasks = [TrainTask(i, "abcde"[i], 0, 0, 0.2) for i in range(5)]

    with InProcess(job(data, training), arrays_of(data)) as crew:
        together = [(t.vector.copy(), t) for t in train(crew, tasks)]
        alone = [(t.vector.copy(), t) for task in tasks for t in train(crew, [task])]

    for (vector, one), (other_vector, other) in zip(together, alone, strict=True):
        assert vector == pytest.approx(other_vector, abs=1e-6)
        assert one.steps == other.steps
        assert one.measurements["loss"] == pytest.approx(other.measurements["loss"], rel=1e-5)
        assert one.measurements["squared_loss"] == pytest.approx(
            other.measurements["squared_loss"], rel=1e-5
        )


def test_a_client_with_damaged_data_does_not_spoil_those_trained_with_it(federation, examples, job):
    x, y = examples(5, seed=1)
    data = federation([(x * np.nan, y), examples(5, seed=2)])
    tasks = [TrainTask(0, "a", 0, 0, 0.1), TrainTask(1, "b", 0, 0, 0.1)]

    with InProcess(job(data, LocalTraining(batch_size=4)), arrays_of(data)) as crew:
        together = [t.vector.copy() for t in train(crew, tasks)]
        (alone,) = train(crew, tasks[1:])

    assert not np.isfinite(together[0]).all()
    assert together[1] == pytest.approx(alone.vector, abs=1e-6)


def test_what_was_not_asked_for_is_not_computed(federation, examples, job):
    data, training = federation([examples(5, seed=1)]), LocalTraining()

    with InProcess(job(data, training, needs=()), arrays_of(data)) as crew:
        (trained,) = train(crew, [TrainTask(0, "a", 0, 0, 0.1)])

    assert "loss" not in trained.measurements
    assert "squared_loss" not in trained.measurements


def test_a_training_starts_afresh_whatever_was_trained_before(client, examples, job, federation):
    training = LocalTraining(momentum=0.9, epochs=2, batch_size=3)
    data = federation([examples(8, seed=1), examples(5, seed=2)])
    tasks = [TrainTask(0, "a", 0, 0, 0.1), TrainTask(1, "b", 0, 0, 0.1)]

    with InProcess(job(data, training), arrays_of(data)) as crew:
        first = [np.array(t.vector) for t in train(crew, tasks)]
    with InProcess(job(data, training), arrays_of(data)) as crew:
        second = [np.array(t.vector) for t in train(crew, tasks[::-1])]

    assert first[0].tobytes() == second[1].tobytes()
    assert first[1].tobytes() == second[0].tobytes()


@pytest.mark.parametrize("when", [{"round": 1}, {"iteration": 1}])
def test_batches_are_dealt_anew_in_every_round_and_iteration(client, examples, when):
    x, y = examples(20, seed=8)
    one = client(x, y, LocalTraining(epochs=1, batch_size=4))

    _, first, _ = one.train()
    _, other, _ = one.train(**when)

    assert not np.array_equal(first[0], other[0])


def test_the_received_model_is_left_as_it_is(client, examples):
    received = np.linspace(-1, 1, 15, dtype=np.float32)
    received.flags.writeable = True
    copy = received.copy()

    client(*examples(5, seed=1), LocalTraining()).train(received)

    assert received.tobytes() == copy.tobytes()


def test_dropout_is_drawn_from_the_seed(federation, job):
    generator = np.random.default_rng(0)
    images = generator.random((6, 1, 28, 28)).astype(np.float32)
    data = federation([(images, np.arange(6) % 3)], [(images, np.arange(6) % 3)])
    model, training = FMNISTCNN(variant="hics"), LocalTraining(epochs=1, batch_size=6)

    def trained(seed, round=0):
        with InProcess(job(data, training, model=model, seed=seed), arrays_of(data)) as crew:
            start = np.full(crew.layout.size, 0.01, dtype=np.float32)
            (result,) = train(crew, [TrainTask(0, "a", round, 0, 0.1)], start)
            return np.array(result.vector)

    assert trained(0).tobytes() == trained(0).tobytes()
    assert trained(0).tobytes() != trained(0, round=1).tobytes()
    assert trained(0).tobytes() != trained(1).tobytes()


def test_the_loss_of_a_model_is_its_mean_over_the_examples_asked_about(federation, examples, job):
    x, y = examples(9, seed=9)
    data = federation([examples(4, seed=8), (x, y)])
    rows = np.array([2, 5, 7])

    with InProcess(job(data, LocalTraining()), arrays_of(data)) as crew:
        whole, part = crew.losses(crew.initial_model, [(1, None), (1, rows)])
        tensors = crew.layout.tensors(crew.initial_model)

    theta = tensors["head.weight"].astype(float), tensors["head.bias"].astype(float)
    expected = per_example_losses(theta, x, y)
    assert whole == pytest.approx(expected.mean(), rel=1e-6)
    assert part == pytest.approx(expected[rows].mean(), rel=1e-6)


def test_a_model_is_evaluated_on_every_test_example(federation, examples, job):
    x, y = examples(1103, seed=10)  # several batches and a rest
    data = federation([examples(4, seed=8)], [(x, y)])

    with InProcess(job(data, LocalTraining()), arrays_of(data)) as crew:
        statistics, losses = crew.evaluate(crew.initial_model)
        tensors = crew.layout.tensors(crew.initial_model)

    theta = tensors["head.weight"].astype(float), tensors["head.bias"].astype(float)
    scores = x.reshape(len(y), -1) @ theta[0].T + theta[1]
    assert statistics[:, 0].tolist() == (scores.argmax(axis=1) == y).tolist()
    assert losses == pytest.approx(per_example_losses(theta, x, y), abs=1e-5)


def test_stored_values_are_normalised_and_left_as_they_are(federation, examples, job):
    x, y = examples(9, seed=9)
    plain = federation([(x, y)], [(x, y)])
    stored = federation([(x * 4 + 2, y)], [(x * 4 + 2, y)], Normalisation(4.0, (0.5,), (1.0,)))
    before = {name: array.copy() for name, array in arrays_of(stored).items()}

    def answers(data):
        with InProcess(job(data, LocalTraining()), arrays_of(data)) as crew:
            task = TrainTask(0, "a", 0, 0, 0.1)
            trained = [train(crew, [task])[0].vector.copy() for _ in range(2)]
            losses = [crew.evaluate(crew.initial_model)[1] for _ in range(2)]
            return trained + losses + crew.losses(crew.initial_model, [(0, None)] * 2)

    for got, expected in zip(answers(stored), answers(plain), strict=True):
        assert got == pytest.approx(expected, abs=1e-5)
    for name, array in arrays_of(stored).items():
        assert array.tobytes() == before[name].tobytes(), name


def test_the_learning_rate_falls_in_steps():
    training = LocalTraining(learning_rate=0.1, lr_decay=LearningRateDecay(every=10, factor=0.5))

    rates = [training.rate(round) for round in (0, 9, 10, 19, 20, 199)]

    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025, 0.1 / 2**19])


def test_a_job_crosses_processes_as_plain_values(federation, examples, job):
    data = federation([examples(4, seed=8)])
    training = LocalTraining(lr_decay=LearningRateDecay(every=3, factor=0.5))
    model = MLP(hidden=(8, 4))
    made = job(data, training, FedProx(mu=0.25), model=model, seed=7, needs=["loss"])

    assert Job.from_plain(made.to_plain()) == made


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 0.0},
        {"momentum": 1.0},
        {"weight_decay": -1.0},
        {"epochs": 0},
        {"batch_size": 0},
    ],
    ids=str,
)
def test_settings_of_training_that_cannot_be_meant_are_refused_by_name(settings):
    (name,) = settings

    with pytest.raises(ConfigurationError, match=f"^{name} must be"):
        LocalTraining(**settings)


@pytest.mark.parametrize("settings", [{"every": 0, "factor": 0.5}, {"every": 1, "factor": 0.0}])
def test_a_decay_that_cannot_be_meant_is_refused(settings):
    with pytest.raises(ConfigurationError, match="must be"):
        LearningRateDecay(**settings)
