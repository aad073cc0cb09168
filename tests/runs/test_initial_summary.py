"""What a run is called before it has a result, from plain values only."""

import pytest
import tomli_w

from terrafl.errors import RunFolderError
from terrafl.runs import RunFolder, Summary

LABELS = {
    **{"dataset": "digits", "scenario": "digits-1", "profile": "laptop", "model": "mlp"},
    **{"selector": "terraform", "variant": "eta=2", "algorithm": "fedavg", "seed": 7},
    "experiment": "abc",
}
OLD = {
    **{"dataset": "digits", "seed": 3, "selector": {"name": "oort"}, "model": {"name": "mlp"}},
    "algorithm": {"name": "fedprox", "mu": 0.1},
}


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path)


def begun(folder, plain):
    folder.config.write_text(tomli_w.dumps(plain))
    return Summary.initial(folder.config)


def test_labels_name_a_run(folder):
    summary = begun(folder, {"labels": LABELS, "versions": {"torch": "2"}, "selector": 3})

    assert {name: getattr(summary, name) for name in LABELS} == LABELS
    assert summary.versions == {"torch": "2"}
    assert (summary.rounds, summary.client_updates, summary.curve) == (0, 0, ())


def test_an_older_run_goes_by_the_names_in_its_settings(folder):
    summary = begun(folder, OLD)

    names = (summary.dataset, summary.model, summary.selector, summary.algorithm, summary.seed)
    assert names == ("digits", "mlp", "oort", "fedprox", 3)
    assert (summary.scenario, summary.variant, summary.experiment) == ("", "", "")


def test_an_older_run_on_flower_goes_by_its_strategies(folder):
    plain = {
        **{"framework": "flower", "seed": 1, "dataset": "cifar", "model": "net"},
        "selector": {"name": "terraform"},
        "strategy": [{"name": "Clipping"}, {"name": "FedAvg"}],
    }

    summary = begun(folder, plain)

    assert (summary.algorithm, summary.model) == ("clipping+fedavg", "net")


def test_a_class_of_the_user_is_only_a_name(folder):
    summary = begun(folder, OLD | {"selector": {"name": "not_there:Mine"}})

    assert summary.selector == "not_there:Mine"


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        (OLD | {"seed": "abc"}, "seed must be an integer"),
        (OLD | {"seed": -1}, "seed must be an integer"),
        (OLD | {"versions": 3}, "versions must be an object; got 3"),
        (OLD | {"versions": {"torch": 2}}, "versions must be a text"),
        (OLD | {"model": {"name": 3}}, "model must be a text"),
        (OLD | {"selector": "oort"}, "it must name a selector and an algorithm"),
        (OLD | {"strategy": 3, "algorithm": 1}, "it must name a selector and an algorithm"),
        (OLD | {"labels": 3}, "it must name a selector and an algorithm"),
        ({"labels": LABELS | {"seed": "abc"}}, "seed must be an integer"),
        ({"labels": LABELS | {"variant": 2}}, "variant must be a text; got 2"),
        ({"title": "my site"}, "it must name a selector and an algorithm"),
    ],
)
def test_a_configuration_that_cannot_be_is_named(folder, plain, reason):
    with pytest.raises(RunFolderError, match=f"config.toml must be the configuration.*{reason}"):
        begun(folder, plain)


def test_a_configuration_that_is_missing_is_named(folder):
    with pytest.raises(RunFolderError, match=r"config\.toml cannot be read: No such file"):
        Summary.initial(folder.config)
