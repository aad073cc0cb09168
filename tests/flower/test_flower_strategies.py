"""Every Flower strategy with a selector around it, and every selector around a strategy."""

from itertools import pairwise

import numpy as np
import pytest
from flower_here import cohorts, events, federation, local_grid, model

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.serverapp.strategy import (
    Bulyan,
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideAdaptiveClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdagrad,
    FedAdam,
    FedAvg,
    FedAvgM,
    FedMedian,
    FedProx,
    FedTrimmedAvg,
    FedYogi,
    Krum,
    MultiKrum,
    QFedAvg,
)

from terrafl import HBase, HiCSFL, Oort, PowerOfChoice, Random, Terraform
from terrafl.errors import ConfigurationError
from terrafl.flower import ClientSelection

pytestmark = pytest.mark.usefixtures("flower")

BASES = {
    "FedAvg": FedAvg,
    "FedProx": lambda: FedProx(proximal_mu=0.1),
    "FedAdam": FedAdam,
    "FedYogi": FedYogi,
    "FedAdagrad": FedAdagrad,
    "FedAvgM": lambda: FedAvgM(server_momentum=0.9, server_learning_rate=0.5),
    "FedMedian": FedMedian,
    "FedTrimmedAvg": lambda: FedTrimmedAvg(beta=0.2),
    "Krum": lambda: Krum(num_malicious_nodes=1),
    "MultiKrum": lambda: MultiKrum(num_malicious_nodes=1, num_nodes_to_select=2),
    "Bulyan": Bulyan,
    "QFedAvg": lambda: QFedAvg(client_learning_rate=0.1, q=0.2),
    "server-side DP": lambda: DifferentialPrivacyServerSideFixedClipping(FedAvg(), 0.0, 1.0, 10),
    "adaptive DP": lambda: DifferentialPrivacyServerSideAdaptiveClipping(
        FedAvg(), 0.0, 10, clipped_count_stddev=0.0
    ),
    "client-side DP": lambda: DifferentialPrivacyClientSideFixedClipping(FedAvg(), 0.0, 1.0, 10),
    "DP around FedAdam": lambda: DifferentialPrivacyServerSideFixedClipping(
        FedAdam(), 0.0, 1.0, 10
    ),
}

every_base = pytest.mark.parametrize("base", BASES.values(), ids=BASES)


def arrays_of(result):
    return {key: array.numpy() for key, array in result.arrays.items()}


@every_base
def test_with_everybody_chosen_a_strategy_does_what_it_does_by_itself(base):
    alone = base().start(local_grid(federation(10)), model(), num_rounds=3)

    chosen = ClientSelection(base(), Random(), clients_per_round=10, guard=None)
    together = chosen.start(local_grid(federation(10)), model(), num_rounds=3, timeout=5)

    for key, array in arrays_of(alone).items():
        np.testing.assert_allclose(arrays_of(together)[key], array, rtol=1e-5, atol=1e-6)
    assert together.train_metrics_clientapp.keys() == {1, 2, 3}
    accuracies = [m["accuracy"] for m in together.evaluate_metrics_clientapp.values()]
    assert accuracies == pytest.approx([0.5, 0.5, 0.5])


@every_base
def test_inner_iterations_happen_inside_a_round_of_any_strategy(base, tmp_path):
    strategy, grid, initial = base(), local_grid(federation(12)), model()
    steps = watch(strategy)

    selection = ClientSelection(
        strategy, Terraform(eta=3), clients_per_round=10, guard=None, out=tmp_path
    )
    result = selection.start(grid, initial, num_rounds=2, timeout=5)

    rounds = [[c for r, _, c in cohorts(tmp_path) if r == number] for number in (0, 1)]
    for chosen in rounds:
        assert len(chosen) > 1
        assert all(set(after) < set(before) for before, after in pairwise(chosen))
        assert min(map(len, chosen)) >= 3
    iterations = sum(map(len, rounds))
    assert steps == list(range(1, iterations + 1))
    assert len(events(tmp_path, "evaluation")) == 2
    assert sum(kind == "evaluate" for _, kind in grid.sent) == 2 * 12
    final = arrays_of(result)
    assert all(np.isfinite(array).all() for array in final.values())
    assert any((final[key] != initial[key].numpy()).any() for key in final)


def watch(strategy):
    """Note the rounds that a strategy is told, through to its results."""
    steps, aggregate = [], strategy.aggregate_train

    def noted(server_round, replies):
        steps.append(server_round)
        return aggregate(server_round, replies)

    strategy.aggregate_train = noted
    return steps


SELECTORS = {
    "random": Random,
    "hbase": HBase,
    "poc": PowerOfChoice,
    "poc cpow-d": lambda: PowerOfChoice(variant="cpow-d", sample_size=8),
    "poc rpow-d": lambda: PowerOfChoice(variant="rpow-d"),
    "oort": Oort,
    "oort measured": lambda: Oort(durations="measured"),
    "hics": HiCSFL,
    "hics released": lambda: HiCSFL(compat="released"),
    "terraform": Terraform,
    "terraform loss": lambda: Terraform(signal="loss", eta=2),
}


@pytest.mark.parametrize("base", [FedAvg, FedAdam], ids=["FedAvg", "FedAdam"])
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_every_selector_works_over_flower(selector, base, tmp_path):
    selection = ClientSelection(base(), selector(), clients_per_round=5, out=tmp_path)

    result = selection.start(local_grid(federation(12)), model(), num_rounds=6, timeout=5)

    assert {r for r, _, _ in cohorts(tmp_path)} == set(range(6))
    assert not events(tmp_path, "refused")
    assert all(np.isfinite(array).all() for array in arrays_of(result).values())


def test_power_of_choice_asks_for_losses_and_takes_the_highest(tmp_path):
    grid = local_grid(federation(12))
    selector = PowerOfChoice(candidates="all")

    ClientSelection(FedAvg(), selector, clients_per_round=3, out=tmp_path).start(
        grid, model(), num_rounds=1, timeout=5
    )

    # The loss that a client of the test answers with is its number.
    assert cohorts(tmp_path) == [(0, 0, ["10", "11", "9"])]
    assert sum(kind == "query.terrafl" for _, kind in grid.sent) == 12 + 12


def test_a_selector_that_averages_plainly_is_averaged_plainly():
    nodes = federation(3, sizes=[1, 10, 100])
    everybody = PowerOfChoice(candidates="all")

    plain = ClientSelection(FedAvg(), everybody, clients_per_round=3, guard=None).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )
    by_size = ClientSelection(FedAvg(), Random(), clients_per_round=3, guard=None).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    initial, key = model()["head.bias"].numpy(), "head.bias"
    own = [np.random.default_rng(k).normal(k, 1.0, size=3).astype(np.float32) for k in range(3)]
    trained = np.array([initial + 0.5 * (mine - initial) for mine in own])
    np.testing.assert_allclose(arrays_of(plain)[key], trained.mean(axis=0), rtol=1e-5)
    weighted = np.average(trained, axis=0, weights=[1, 10, 100])
    np.testing.assert_allclose(arrays_of(by_size)[key], weighted, rtol=1e-5)


def test_fedprox_still_tells_clients_its_mu_in_every_iteration():
    seen = []
    nodes = federation(8, spoil=lambda content, config: seen.append(dict(config.items())))

    ClientSelection(FedProx(proximal_mu=0.3), Terraform(eta=2), clients_per_round=8).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    assert {config["proximal-mu"] for config in seen} == {0.3}
    assert {config["terrafl-round"] for config in seen} == {0}
    asked = [config["terrafl-iteration"] for config in seen]
    assert asked == sorted(asked)
    assert max(asked) > 0
    assert [config["server-round"] for config in seen] == [i + 1 for i in asked]


def test_the_strategy_keeps_its_own_settings():
    base = FedAvg(fraction_train=0.5, min_train_nodes=3, min_available_nodes=4)

    ClientSelection(base, Random(), clients_per_round=2).start(
        local_grid(federation(6)), model(), num_rounds=1, timeout=5
    )

    assert (base.fraction_train, base.min_train_nodes, base.min_available_nodes) == (0.5, 3, 4)


def test_it_must_be_the_outermost_strategy():
    inside = ClientSelection(FedAvg(), Random(), clients_per_round=2)
    outside = DifferentialPrivacyServerSideFixedClipping(inside, 0.0, 1.0, 2)

    with pytest.raises(ConfigurationError, match="must be the outermost strategy"):
        outside.start(local_grid(federation(4)), model(), num_rounds=1)


def test_the_guard_is_on_unless_it_is_switched_off(tmp_path):
    def pulled(guard, folder):
        nodes = federation(6, sizes=[100, 100, 100, 100, 100, 3000])
        settings = {} if guard else {"guard": None}
        selection = ClientSelection(FedAvg(), Random(), clients_per_round=6, out=folder, **settings)
        arrays = selection.start(local_grid(nodes), model(), num_rounds=1, timeout=5).arrays
        return float(arrays["head.bias"].numpy().mean())

    guarded, trusting = pulled(True, tmp_path / "on"), pulled(False, tmp_path / "off")

    # Client 5, the furthest off, claims thirty times the data of the others.
    assert trusting > guarded
    actions = {(e["client"], e["action"]) for e in events(tmp_path / "on", "guard")}
    assert ("5", "capped") in actions
    assert not events(tmp_path / "off", "guard")
