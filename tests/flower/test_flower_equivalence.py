"""One seed, one federation: Flower and the simulator write one journal and end with one model."""

import numpy as np
import pytest
from flower_here import events

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from both_ways import ROUNDS, run_both
from flwr.serverapp.strategy import FedAvg, FedProx
from safetensors.numpy import load_file

import terrafl
from terrafl.defences.guard import Guard

pytestmark = pytest.mark.usefixtures("flower")

PAIRS = {
    "terraform, fedavg": (lambda: terrafl.Terraform(eta=2), terrafl.FedAvg, FedAvg),
    "terraform, fedprox": (
        lambda: terrafl.Terraform(eta=2),
        lambda: terrafl.FedProx(mu=0.1),
        lambda: FedProx(proximal_mu=0.1),
    ),
    "anchored terraform, fedavg": (
        lambda: terrafl.Terraform(eta=2, anchor=True),
        terrafl.FedAvg,
        FedAvg,
    ),
    "random, fedavg": (terrafl.Random, terrafl.FedAvg, FedAvg),
    "hbase, fedavg": (terrafl.HBase, terrafl.FedAvg, FedAvg),
    "poc, fedavg": (terrafl.PowerOfChoice, terrafl.FedAvg, FedAvg),
    "cpow-d, fedavg": (
        lambda: terrafl.PowerOfChoice(variant="cpow-d", sample_size=4),
        terrafl.FedAvg,
        FedAvg,
    ),
    "oort, fedavg": (terrafl.Oort, terrafl.FedAvg, FedAvg),
    "hics, fedavg": (terrafl.HiCSFL, terrafl.FedAvg, FedAvg),
}

LABELS = {"mean_classes", "mean_distance", "redraws", "repaired", "distances", "labels"}
UNKNOWN = {"federation": LABELS, "fairness": {"tested", "correct"}}
"""What a server cannot know, by event."""


@pytest.mark.parametrize("pair", PAIRS)
def test_flower_and_the_simulator_agree(pair, tmp_path):
    kinds = agree(*PAIRS[pair], None, tmp_path)

    assert {"federation", "cohort", "updates", "evaluation", "fairness"} <= kinds
    assert not {"guard", "averaged"} & kinds


@pytest.mark.parametrize("pair", ["terraform, fedavg", "anchored terraform, fedavg", "poc, fedavg"])
def test_they_agree_under_the_guard_as_well(pair, tmp_path):
    kinds = agree(*PAIRS[pair], Guard, tmp_path)

    assert {"guard", "averaged"} <= kinds


def agree(selector, algorithm, base, guard, tmp_path):
    """Run both; compare the models and the journals; return the kinds of events in them."""
    both = run_both(selector, algorithm, base, guard, tmp_path)

    model, other = (load_file(f / "model.safetensors") for f in (both.simulated, both.flower))
    assert model.keys() == other.keys()
    for name, array in model.items():
        np.testing.assert_allclose(other[name], array, rtol=0, atol=1e-6)
    simulated, flower = events(both.simulated), events(both.flower)
    kinds = [event["event"] for event in simulated]
    assert [event["event"] for event in flower] == kinds
    assert kinds.count("cohort") >= ROUNDS
    for ours, theirs in zip(simulated, flower, strict=True):
        same(expected(ours, sum(array.nbytes for array in model.values())), theirs)
    check_participating(simulated[-1], events(both.flower, "evaluation")[-1])
    return set(kinds)


def expected(event, model_bytes):
    """Return the event that Flower writes where the simulator writes this one.

    Every message of Flower carries the model. In the simulator, a client that was asked for its
    loss has the model already when it trains, and every client that trains was asked.
    """
    asked = event.get("loss_queries", 0) > 0
    again = event["client_updates"] * model_bytes if asked else 0
    return event | {"bytes_down": event["bytes_down"] + again} if again else event


def check_participating(fairness, evaluation):
    """On Flower, the strategy decides who evaluates: with FedAvg, everybody does."""
    pairs = zip(fairness["correct"], fairness["tested"], strict=True)
    shares = [correct / tested for correct, tested in pairs if tested]
    assert evaluation["accuracy_participating"] == pytest.approx(np.mean(shares), abs=1e-6)


def same(ours, theirs):
    """Compare an event of the simulator with the same event on Flower."""
    unknown = UNKNOWN.get(ours["event"], set())
    assert None not in ours.values()
    assert {key for key, value in theirs.items() if value is None} == unknown
    left_out = unknown | {"accuracy_participating"}  # over other clients: check_participating
    assert ours.keys() == theirs.keys()
    for key in ours.keys() - left_out:
        close(ours[key], theirs[key])


def close(ours, theirs):
    """Compare JSON values; numbers to 1e-6, integers exactly."""
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            close(value, theirs[key])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            close(one, other)
    elif isinstance(ours, float):
        assert theirs == pytest.approx(ours, rel=1e-6, abs=1e-6)
    else:
        assert theirs == ours
