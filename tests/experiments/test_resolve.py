"""A configuration from layers: which one wins, and what is said about mistakes."""

import pytest

from terrafl.algorithms import FedProx
from terrafl.data import AlphaGroups, Iid
from terrafl.errors import ConfigurationError
from terrafl.experiments.api import configure
from terrafl.experiments.config import resolve
from terrafl.experiments.config_layers import read_toml
from terrafl.models import MLP, Linear
from terrafl.selection import HiCSFL, Random, Terraform
from terrafl.simulation.local_training import LearningRateDecay


def test_nothing_given_is_the_scenario_of_digits():
    config = resolve()

    assert config == resolve({"dataset": "digits"})
    assert config.dataset == "digits"
    assert isinstance(config.selector, Terraform)


def test_a_later_layer_overrides_an_earlier_one():
    config = resolve({"rounds": 5, "seed": 3}, {"rounds": 7})

    assert (config.rounds, config.seed) == (7, 3)


def test_tables_are_merged_key_by_key():
    config = resolve({"training": {"epochs": 3, "momentum": 0.5}}, {"training": {"epochs": 4}})

    assert (config.training.epochs, config.training.momentum) == (4, 0.5)
    assert config.training.batch_size == resolve().training.batch_size


def test_a_name_is_short_for_a_table():
    assert resolve({"selector": "random"}) == resolve({"selector": {"name": "random"}})


def test_a_part_with_another_name_inherits_nothing():
    config = resolve({"model": {"name": "mlp", "hidden": [7]}}, {"model": "linear"})

    assert config.model == Linear()


def test_a_part_with_the_same_name_inherits():
    config = resolve(
        {"selector": {"name": "terraform", "eta": 2}}, {"selector": {"signal": "loss"}}
    )

    assert config.selector == Terraform(eta=2, signal="loss")


def test_a_setting_alone_changes_the_part_of_the_scenario():
    config = resolve({"partition": {"clients": 20}}, {"model": {"hidden": [9]}})

    assert config.partition == AlphaGroups(clients=20, alphas=resolve().partition.alphas)
    assert config.model == MLP(hidden=(9,))


def test_a_scenario_lies_below_whatever_is_given():
    config = resolve({"rounds": 3}, {"scenario": "fmnist-1"})

    assert (config.rounds, config.clients_per_round) == (3, 5)
    assert config.scenario == "fmnist-1"


def test_a_scenario_has_settings_for_the_selector_that_is_chosen():
    chosen = resolve({"scenario": "fmnist-1", "selector": "hics"})
    overridden = resolve({"scenario": "fmnist-1", "selector": {"name": "hics", "gamma": 1.0}})

    assert chosen.selector == HiCSFL(temperature=0.0025, gamma=4.0)
    assert overridden.selector == HiCSFL(temperature=0.0025, gamma=1.0)


def test_a_file_lies_below_single_settings(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('rounds = 5\nseed = 3\nselector = "oort"\n[training]\nepochs = 4\n')

    config = configure(
        config=path, selector=Random(), rounds=6, settings={"training": {"epochs": 5}}
    )

    assert (config.rounds, config.seed, config.selector) == (6, 3, Random())
    assert config.training.epochs == 5


def test_objects_are_as_good_as_words():
    by_objects = configure(
        selector=Terraform(eta=2),
        algorithm=FedProx(mu=0.3),
        model=MLP(hidden=(8,)),
        partition=Iid(9),
    )
    by_words = configure(
        selector={"name": "terraform", "eta": 2},
        algorithm={"name": "fedprox", "mu": 0.3},
        model={"name": "mlp", "hidden": [8]},
        partition={"name": "iid", "clients": 9},
    )

    assert by_objects == by_words


def test_the_number_of_clients_is_short_for_that_of_the_partition():
    assert configure(clients=17).partition.clients == 17


def test_a_nested_table_becomes_an_object():
    config = resolve({"training": {"lr_decay": {"every": 10, "factor": 0.5}}})

    assert config.training.lr_decay == LearningRateDecay(every=10, factor=0.5)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"round": 5}, "configuration has no key 'round': did you mean 'rounds'?"),
        ({"selektor": "random"}, "has no key 'selektor': did you mean 'selector'?"),
        ({"selectors": {"hics": {}}}, "has no key 'selectors': did you mean 'selector'?"),
        ({"zzz": 5}, "configuration has no key 'zzz'. Known keys: dataset,"),
        (
            {"selector": {"name": "terraform", "etta": 2}},
            "selector has no key 'etta': did you mean 'eta'?",
        ),
        ({"selector": {"name": "terafform"}}, "got 'terafform': did you mean 'terraform'?"),
        ({"selector": {"name": 3}}, "selector.name must be one of random,"),
        ({"selector": {"name": ["random"]}}, "selector.name must be one of random,"),
        ({"selector": {"name": "terraform", "eta": 0}}, "selector.eta must be an integer of at"),
        ({"selector": {"name": "terraform", "eta": "two"}}, "selector.eta: input should be"),
        ({"selector": 3}, "selector must be a table of settings; got 3."),
        ({"training": {"epoch": 2}}, "training has no key 'epoch': did you mean 'epochs'?"),
        ({"training": {"epochs": 0}}, "training.epochs must be an integer of at least 1; got 0."),
        ({"training": {"optimizer": "lion"}}, "training.optimizer: input should be 'sgd' or"),
        ({"training": {"lr_decay": {"every": 0, "factor": 1}}}, "training.lr_decay.every must be"),
        ({"training": 3}, "training must be a table of settings; got 3."),
        ({"algorithm": "fedprocks"}, "algorithm.name must be one of fedavg, fedprox, "),
        ({"model": "mpl"}, "got 'mpl': did you mean 'mlp'?"),
        ({"partition": {"name": "alpha-groups", "client": 2}}, "did you mean 'clients'?"),
        ({"rounds": 0}, "rounds must be an integer of at least 1; got 0."),
        ({"rounds": 2.5}, "configuration.rounds: input should be a valid integer"),
        ({"clients_per_round": 0}, "clients_per_round must be an integer of at least 1; got 0."),
        ({"seed": -1}, "seed must be an integer of at least 0; got -1."),
        ({"eval_every": 0}, "eval_every must be an integer of at least 1; got 0."),
        ({"patience": 0}, "patience must be an integer of at least 1, or left out; got 0."),
        ({"dataset": "digit"}, "dataset must be one of "),
        ({"dataset": "digit"}, "got 'digit': did you mean 'digits'?"),
        ({"dataset": 3}, "dataset must be a name; got 3."),
        ({"dataset": []}, "dataset must be a name; got []."),
        ({"scenario": "fmnist-9"}, "scenario must be one of "),
        ({"scenario": "_fmnist"}, "scenario must be one of "),
        ({"scenario": "_nothing"}, "scenario must be one of "),
        ({"scenario": 3}, "scenario must be a name; got 3."),
        ({"scenario": "fmnist-1", "dataset": "digits"}, "dataset must be 'fmnist' for scenario"),
    ],
    ids=str,
)
def test_a_mistake_is_named_with_what_to_do(layer, message):
    with pytest.raises(ConfigurationError) as caught:
        resolve(layer)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "config.toml cannot be read: No such file or directory."),
        ("rounds = ", "config.toml must be a TOML file; Invalid value"),
        ("rounds = 1\nrounds = 2", "config.toml must be a TOML file; Cannot overwrite a value"),
        ("\udcff", "config.toml must be a TOML file; 'utf-8' codec can't decode"),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path, content, message):
    path = tmp_path / "config.toml"
    if content is not None:
        path.write_text(content, errors="surrogateescape")

    with pytest.raises(ConfigurationError) as caught:
        read_toml(path)

    assert message in str(caught.value)
