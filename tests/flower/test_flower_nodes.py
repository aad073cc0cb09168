"""Nodes that are few, silent, late, new or renamed: every wait ends."""

import time

import numpy as np
import pytest
from flower_here import Node, cohorts, events, federation, local_grid, model, numpy_app

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.serverapp.strategy import FedAvg

from terrafl import HBase, Random, Terraform
from terrafl.errors import ConfigurationError, TerraflError
from terrafl.flower import ClientSelection

pytestmark = pytest.mark.usefixtures("flower")


def test_when_nobody_comes_the_wait_ends_with_a_sentence():
    started = time.monotonic()

    with pytest.raises(TerraflError, match=r"no client could be reached within 0\.3 s"):
        ClientSelection(FedAvg(), Random(), clients_per_round=2, wait_s=0.3).start(
            local_grid({}), model(), num_rounds=1, timeout=5
        )

    assert time.monotonic() - started < 10


def test_when_too_few_come_the_round_goes_on_with_them(tmp_path):
    selection = ClientSelection(
        FedAvg(min_available_nodes=50), Random(), clients_per_round=9, wait_s=0.3, out=tmp_path
    )

    selection.start(local_grid(federation(3)), model(), num_rounds=2, timeout=5)

    assert [clients for _, _, clients in cohorts(tmp_path)] == [["0", "1", "2"]] * 2


def test_a_silent_node_is_left_out_sits_out_and_is_tried_again(tmp_path):
    nodes = federation(5)
    silent = next(node for node in nodes.values() if node.config["partition-id"] == 2)
    app = silent.app

    def hung(message, context):
        if message.metadata.message_type == "train":
            silent.is_silent = True
        return app(message, context)

    silent.app = hung
    accuracies = iter([0.1, 0.2, 0.3, 0.4])

    def evaluate(server_round, arrays):
        from flwr.app import MetricRecord

        if server_round == 2:
            silent.is_silent = False  # the reply of round 1 comes now
        return MetricRecord({"accuracy": next(accuracies)}) if server_round else None

    base = FedAvg(fraction_evaluate=0.0)
    ClientSelection(base, Random(), clients_per_round=5, out=tmp_path).start(
        local_grid(nodes), model(), num_rounds=3, timeout=0.5, evaluate_fn=evaluate
    )

    everybody, others = ["0", "1", "2", "3", "4"], ["0", "1", "3", "4"]
    assert [clients for _, _, clients in cohorts(tmp_path)] == [everybody, others, everybody]
    assert [(e["round"], e["client"], e["reason"]) for e in events(tmp_path, "refused")] == [
        (0, "2", "no reply within 0.5 s"),
        (2, "2", "the reply came after its deadline"),
        (2, "2", "no reply within 0.5 s"),
    ]


def test_a_node_that_leaves_between_iterations_is_missed_by_name(tmp_path):
    nodes = federation(8)
    # The client with the largest number is the furthest from the model: it is asked again.
    (leaver,) = (i for i, node in nodes.items() if node.config["partition-id"] == 7)
    app = nodes[leaver].app

    def trains_and_leaves(message, context):
        if message.metadata.message_type == "train":
            del nodes[leaver]
        return app(message, context)

    nodes[leaver].app = trains_and_leaves

    selection = ClientSelection(
        FedAvg(fraction_evaluate=0.0), Terraform(eta=2), clients_per_round=8, out=tmp_path
    )
    selection.start(local_grid(nodes), model(), num_rounds=1, timeout=5)

    missed = [e for e in events(tmp_path, "refused") if e["client"] == "7"]
    assert [(e["iteration"], e["reason"]) for e in missed] == [(1, "the client is not connected")]


def test_evaluation_is_left_out_rather_than_waited_for_without_end():
    base = FedAvg(min_evaluate_nodes=10)

    result = ClientSelection(base, Random(), clients_per_round=2).start(
        local_grid(federation(3)), model(), num_rounds=1, timeout=5
    )

    assert result.evaluate_metrics_clientapp == {}


def test_clients_keep_their_names_when_node_ids_change(tmp_path):
    def chosen(ids, folder):
        nodes = dict(zip(ids, federation(12).values(), strict=True))
        ClientSelection(FedAvg(), HBase(), clients_per_round=4, seed=3, out=folder).start(
            local_grid(nodes), model(), num_rounds=4, timeout=5
        )
        return (folder / "journal.jsonl").read_bytes()

    assert chosen(range(100, 112), tmp_path / "a") == chosen(range(900, 888, -1), tmp_path / "b")


def test_a_key_names_its_node_whatever_the_client_says(tmp_path):
    nodes = {k: Node(numpy_app(100), {"partition-id": 0}, b"key %d" % k) for k in range(4)}

    ClientSelection(
        FedAvg(), Random(), clients_per_round=4, identity="public-key", out=tmp_path
    ).start(local_grid(nodes), model(), num_rounds=1, timeout=5)

    ((_, _, clients),) = cohorts(tmp_path)
    assert len(set(clients)) == 4
    assert all(client.startswith("key-") for client in clients)


def test_clients_that_answer_no_questions_take_part_under_their_keys(tmp_path):
    nodes = federation(4, answers=False)
    for number, node in enumerate(nodes.values()):
        node.public_key = b"key %d" % number

    ClientSelection(FedAvg(), Terraform(eta=2), clients_per_round=4, out=tmp_path).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    first = cohorts(tmp_path)[0][2]
    assert len(first) == 4
    assert all(client.startswith("key-") for client in first)
    assert not events(tmp_path, "refused")


def test_the_newest_of_two_nodes_with_one_name_is_asked(tmp_path):
    old, new = numpy_app(100, pull=0.0), numpy_app(100, pull=1.0)
    nodes = {1: Node(old, {"partition-id": 0})}
    grid = local_grid(nodes)

    def evaluate(server_round, arrays):
        nodes[2] = Node(new, {"partition-id": 0})

    result = ClientSelection(
        FedAvg(fraction_evaluate=0.0), Random(), clients_per_round=1, guard=None
    ).start(grid, model(), num_rounds=1, timeout=5, evaluate_fn=evaluate)

    own = np.random.default_rng(0).normal(0, 1.0, size=(3,)).astype(np.float32)
    np.testing.assert_allclose(result.arrays["head.bias"].numpy(), own, rtol=1e-5)


def test_who_claims_a_wild_size_before_the_first_round_is_turned_away(tmp_path):
    nodes = federation(5, sizes=[100, 110, 120, 130, 10**12])

    ClientSelection(FedAvg(), HBase(), clients_per_round=5, wait_s=0.2, out=tmp_path).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    assert [(e["client"], e["reason"]) for e in events(tmp_path, "refused")] == [
        ("4", "num_examples must be at most 12000 (100 x median), got 1000000000000")
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [("clients_per_round", 0), ("wait_s", 0), ("epochs", 0), ("identity", "name")],
)
def test_a_wrong_setting_is_said_at_once(name, value):
    given = {"clients_per_round": 2, name: value}

    with pytest.raises(ConfigurationError, match=f"^{name} must be"):
        ClientSelection(FedAvg(), Random(), **given)


def test_a_model_without_a_final_layer_is_said_by_its_arrays():
    from flwr.app import Array, ArrayRecord

    with pytest.raises(ConfigurationError, match=r"final_layer must name a layer .* 'scale'"):
        ClientSelection(FedAvg(), Terraform(), clients_per_round=2).start(
            local_grid(federation(2)),
            ArrayRecord({"scale": Array(np.zeros(3, dtype=np.float32))}),
            num_rounds=1,
            timeout=5,
        )
