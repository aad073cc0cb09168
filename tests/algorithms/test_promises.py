"""What every algorithm promises: zero settings, one client, order, workers, resume, invariants."""

from dataclasses import replace

import numpy as np
import pytest
import slow_rounds
from made_updates import an_update
from safetensors.numpy import load_file
from slow_rounds import CASES, SETTINGS, initial, vector

from terrafl.algorithms import ALGORITHMS, LocalStep, RunFacts
from terrafl.algorithms.means import mean_of_given_weights
from terrafl.errors import ConfigurationError, RunFolderError
from terrafl.experiments.config import resolve
from terrafl.experiments.run import execute, resume
from terrafl.federation import record
from terrafl.records import Population
from terrafl.runs import read_lines
from terrafl.runs.slot_file import SlotFile

ALL = {**CASES, "moon": {"mu": 2.0}}
every_algorithm = pytest.mark.parametrize("algorithm", ALL)
SMALL = SETTINGS | {"selector": {"name": "terraform", "eta": 2}, "rounds": 3}
FILES = ("journal.jsonl", "model.safetensors", "summary.json")


class Stopped(Exception):
    pass


def settings(algorithm, **changes):
    model = {"model": {"name": "mlp", "hidden": [12]}} if algorithm == "moon" else {}
    return resolve(SMALL | model | changes | {"algorithm": {"name": algorithm, **ALL[algorithm]}})


def written(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def test_every_algorithm_is_tested_here():
    assert ALL.keys() == ALGORITHMS.keys()


@every_algorithm
def test_workers_and_a_stop_within_a_round_change_no_byte(algorithm, tmp_path):
    config = settings(algorithm, average={"half_life": 20})
    execute(config, tmp_path / "one", checkpoint_every_s=0)
    execute(config, tmp_path / "two", workers=2)
    saved = []

    def save(folder, number, checkpoint):
        real(folder, number, checkpoint)
        saved.append(checkpoint.values["iteration"])
        if len(saved) > 3 and saved[-1] > 0:
            raise Stopped

    real = record.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "save", save)
        with pytest.raises(Stopped):
            execute(config, tmp_path / "resumed", checkpoint_every_s=0)
    resume(tmp_path / "resumed")

    assert written(tmp_path / "one") == written(tmp_path / "two") == written(tmp_path / "resumed")


@pytest.mark.parametrize(
    "algorithm",
    [
        {"name": "fedprox", "mu": 0.0},
        {"name": "fedavgm", "beta": 0.0},
        {"name": "moon", "mu": 0.0},
    ],
    ids=lambda plain: plain["name"],
)
def test_the_zero_setting_is_fedavg_to_the_byte(algorithm, tmp_path):
    execute(resolve(SMALL | {"algorithm": "fedavg"}), tmp_path / "fedavg")
    execute(resolve(SMALL | {"algorithm": algorithm}), tmp_path / "zero")

    expected = (tmp_path / "fedavg" / "model.safetensors").read_bytes()
    assert (tmp_path / "zero" / "model.safetensors").read_bytes() == expected


def test_fednova_with_equal_steps_is_fedavg_to_the_byte(tmp_path):
    training = {"training": {"learning_rate": 0.05, "epochs": 3, "batch_size": 10_000}}
    for algorithm in ("fedavg", "fednova"):
        execute(resolve(SMALL | training | {"algorithm": algorithm}), tmp_path / algorithm)

    expected = (tmp_path / "fedavg" / "model.safetensors").read_bytes()
    assert (tmp_path / "fednova" / "model.safetensors").read_bytes() == expected


@pytest.mark.parametrize("algorithm", ["fedavg", "fednova", "scaffold"])
def test_one_client_is_centralised_sgd(algorithm, tmp_path):
    """Under SCAFFOLD, c equals c_k. MOON contrasts a client with its own past, and differs."""
    alone = {
        "partition": {"name": "iid", "clients": 1},
        "clients_per_round": 1,
        "selector": "random",
        "model": "linear",
    }
    config = resolve(SMALL | alone | {"algorithm": algorithm})
    execute(config, tmp_path / "run")

    theta, world = initial(config), slow_rounds.World(config)
    for round in range(config.rounds):
        theta, _, _ = world.train(theta, world.ids[0], round, 0)
    assert np.abs(vector(tmp_path / "run") - theta).max() < 2e-5


def test_with_everybody_there_the_control_of_scaffold_is_the_mean_of_the_clients_controls(
    monkeypatch, tmp_path
):
    kept = []
    real = ALGORITHMS["scaffold"].learn

    def learn(self, received, updates, population):
        real(self, received, updates, population)
        own = [self.give(c, population)["client_control"] for c in population.ids.tolist()]
        kept.append((self.shared(population)["control"], own, population.sizes))

    monkeypatch.setattr(ALGORITHMS["scaffold"], "learn", learn)
    everyone = {"selector": "random", "clients_per_round": 8, "algorithm": "scaffold"}
    execute(resolve(SMALL | everyone), tmp_path / "run")

    assert len(kept) == 3
    for control, own, sizes in kept:
        expected = np.average(np.array(own, dtype=float), axis=0, weights=sizes)
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(control, expected, atol=1e-7)


def test_feddc_without_state_corrects_as_feddyn_and_without_drift_as_scaffold():
    generator = np.random.default_rng(3)
    gradient, y, theta, h, c, ck = generator.normal(size=(6, 5))
    feddc = ALGORITHMS["feddc"](alpha=0.4)

    as_feddyn = feddc.correct_gradient(
        LocalStep(gradient, y, theta, {}, {"drift": h, "correction": 0 * h})
    )
    as_scaffold = ALGORITHMS["feddc"](alpha=0.0).correct_gradient(
        LocalStep(gradient, y, theta, {}, {"drift": h, "correction": c - ck})
    )

    feddyn = ALGORITHMS["feddyn"](alpha=0.4).correct_gradient(
        LocalStep(gradient, y, theta, {}, {"drift": h})
    )
    scaffold = ALGORITHMS["scaffold"]().correct_gradient(
        LocalStep(gradient, y, theta, {"control": c}, {"client_control": ck})
    )
    np.testing.assert_allclose(as_feddyn, feddyn, rtol=1e-15)
    np.testing.assert_allclose(as_scaffold, scaffold, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["fednova", "scaffold", "feddc"])
def test_adam_is_refused_with_the_reason(algorithm, tmp_path):
    config = settings(algorithm, training={"optimizer": "adam", "learning_rate": 0.01})

    with pytest.raises(ConfigurationError, match=rf"{algorithm} needs .* SGD.*; got adam"):
        execute(config, tmp_path / "run")


def costs(folder):
    lines = read_lines(folder / "journal.jsonl")
    return [event for event in lines if event["event"] == "evaluation"][-1]


def test_control_variates_travel_with_the_model(tmp_path):
    bytes_of = {}
    for algorithm in ("fedavg", "scaffold", "feddyn", "feddc"):
        execute(settings(algorithm, selector="random", rounds=1), tmp_path / algorithm)
        spent = costs(tmp_path / algorithm)
        bytes_of[algorithm] = (spent["bytes_down"], spent["bytes_up"])

    down, up = bytes_of["fedavg"]
    models = 5 * 4 * (64 * 10 + 10)
    assert bytes_of["feddyn"] == (down, up)
    assert bytes_of["scaffold"] == bytes_of["feddc"] == (down + models, up + models)


def test_moon_counts_two_forward_passes_for_clients_that_trained_before(tmp_path):
    everyone = {"selector": "random", "clients_per_round": 8, "rounds": 3}
    execute(settings("moon", **everyone), tmp_path / "run")

    spent = costs(tmp_path / "run")
    assert spent["samples_forwarded"] == 2 * spent["samples_trained"] * 2 // 3  # from round 2 on


def test_buffers_are_averaged_and_never_corrected(tmp_path):
    """A batch norm's statistics after one round do not depend on the algorithm's state."""
    settings = {
        "dataset": "digits",
        "partition": {"name": "iid", "clients": 4},
        "model": "normed:Normed",
        "training": {"learning_rate": 0.05, "epochs": 1, "batch_size": 10_000},
        "selector": "random",
        "clients_per_round": 4,
        "rounds": 1,
    }
    found = {}
    for name in ("fedavg", "fedavgm", "fedyogi", "scaffold", "feddyn", "feddc", "fednova"):
        execute(resolve(settings | {"algorithm": name}), tmp_path / name)
        found[name] = load_file(tmp_path / name / "model.safetensors")

    for name, tensors in found.items():
        for key in ("norm.running_mean", "norm.running_var"):
            np.testing.assert_array_equal(tensors[key], found["fedavg"][key], err_msg=name)
    assert np.abs(found["fedavg"]["norm.running_mean"]).max() > 0


def stopped_and_resumed(config, folder, when):
    """Run until a checkpoint for which ``when`` holds, then resume."""

    def save(path, number, checkpoint):
        real(path, number, checkpoint)
        if when(checkpoint):
            raise Stopped

    real = record.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "save", save)
        with pytest.raises(Stopped):
            execute(config, folder, checkpoint_every_s=0)
    resume(folder)


@pytest.mark.parametrize("algorithm", ["fednova", "fedavgm"])
def test_an_anchored_round_resumes_with_the_steps_of_kept_updates(algorithm, tmp_path):
    config = settings(algorithm, selector={"name": "terraform", "eta": 2, "anchor": True})
    execute(config, tmp_path / "whole")

    stopped_and_resumed(config, tmp_path / "resumed", lambda c: c.values["iteration"] == 1)

    assert written(tmp_path / "whole") == written(tmp_path / "resumed")


def test_who_has_the_model_survives_a_restart(tmp_path):
    """A selector that asks between iterations: the model is not sent twice to the same client."""
    config = settings("fedavg", selector="asking:Asking")
    execute(config, tmp_path / "whole")

    stopped_and_resumed(config, tmp_path / "resumed", lambda c: c.values["iteration"] == 1)

    assert written(tmp_path / "whole") == written(tmp_path / "resumed")


def test_damaged_client_state_is_noticed(tmp_path):
    config = settings("scaffold")

    def save(path, number, checkpoint):
        real(path, number, checkpoint)
        if checkpoint.values["round"] == 1:
            raise Stopped

    real = record.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "save", save)
        with pytest.raises(Stopped):
            execute(config, tmp_path / "run", checkpoint_every_s=0)
    (state,) = (tmp_path / "run").rglob("clients.f32")
    content = bytearray(state.read_bytes())
    content[::500] = bytes(255 - byte for byte in content[::500])
    state.write_bytes(content)

    with pytest.raises(RunFolderError, match=r"clients\.f32 must hold .* it is damaged"):
        resume(tmp_path / "run")


def test_moon_refuses_a_network_without_features_and_leaves_no_folder(tmp_path):
    with pytest.raises(ConfigurationError, match="moon must have a network with a trained layer"):
        execute(settings("moon", model="linear"), tmp_path / "run")

    assert not (tmp_path / "run").exists()


def begun(algorithm):
    algorithm.begin(
        RunFacts(
            model=np.zeros(3, dtype=np.float32),
            num_parameters=3,
            averaging="size",
            optimizer="sgd",
            momentum=0.0,
            weight_decay=0.0,
            client_vectors=lambda names: SlotFile(None, 3, names),
        )
    )
    return algorithm


@pytest.mark.parametrize("name", ["scaffold", "feddc"])
def test_the_sum_of_controls_is_true_while_clients_join_and_change_their_size(name):
    """On Flower the population grows, and a client may report another size."""
    algorithm, draw = begun(ALGORITHMS[name]()), np.random.default_rng(1)
    zero, sizes = np.zeros(3, dtype=np.float32), {}
    for joining in ({"a": 5, "b": 9}, {"c": 30}, {"a": 12}, {"d": 2, "b": 1}):
        sizes |= joining
        population = Population.of(sizes)
        algorithm.shared(population)
        for client in sizes:
            algorithm.give(client, population)
        updates = [replace(an_update(c, draw.normal(size=3)), steps=1, step_sum=0.5) for c in sizes]
        algorithm.learn(zero, updates, population)
        key = "client_control" if name == "scaffold" else "control"
        expected = sum(sizes[c] * algorithm._clients.get(c)[key].astype(float) for c in sizes)
        np.testing.assert_allclose(algorithm._clients.sum(key), expected, atol=1e-4)


def test_a_control_is_corrected_by_what_was_sent_although_the_population_changed():
    scaffold, zero = begun(ALGORITHMS["scaffold"]()), np.zeros(3, dtype=np.float32)
    few, many = Population.of({"a": 1, "b": 1}), Population.of({"a": 1, "b": 50})
    update = replace(an_update("a", [1.0, 2.0, 3.0]), steps=1, step_sum=0.5)
    scaffold.shared(few)
    scaffold.learn(zero, [update], few)
    sent = scaffold.shared(few)["control"].copy()
    old = scaffold.give("a", few)["client_control"]
    scaffold.learn(zero, [update], many)  # the size of b became known while a trained

    expected = old - sent + (zero - update.vector) / 0.5
    np.testing.assert_allclose(scaffold.give("a", many)["client_control"], expected, rtol=1e-6)


def test_zero_weights_leave_the_model_finite():
    fednova = begun(ALGORITHMS["fednova"]())
    updates = [
        replace(an_update(c, [1.0, 1.0, 1.0], weight=0.0), steps=s, step_sum=0.1 * s)
        for c, s in (("a", 1), ("b", 2))
    ]
    population = Population.of({"a": 1, "b": 1})

    new = fednova.aggregate(np.ones(3, np.float32), updates, population, mean_of_given_weights)

    np.testing.assert_array_equal(new, np.ones(3))
