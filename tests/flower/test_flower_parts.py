"""The small parts: the final layer in a vector, the client's report, a strategy's state."""

import math

import numpy as np
import pytest
from flower_here import federation, local_grid, model

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp.strategy import FedAvg

from terrafl import PowerOfChoice, Terraform
from terrafl.errors import ConfigurationError
from terrafl.flower import ClientSelection, report
from terrafl.flower.model_arrays import ArrayLayout
from terrafl.flower.subset import SubsetGrid
from terrafl.selection.needs import measure

pytestmark = pytest.mark.usefixtures("flower")

TORCH = {
    "conv": (2, 3, 3),
    "body.weight": (5, 4),
    "body.bias": (5,),
    "head.weight": (3, 5),
    "head.bias": (3,),
}
KERAS = {"0": (4, 5), "1": (5,), "2": (5, 3), "3": (3,)}


def random_model(shapes, seed):
    draw = np.random.default_rng(seed)
    return {key: draw.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}


@pytest.mark.parametrize(
    ("shapes", "weight", "bias"),
    [(TORCH, "head.weight", "head.bias"), (KERAS, "2", "3")],
    ids=["torch", "keras"],
)
def test_the_update_of_the_final_layer_is_what_its_formula_says(shapes, weight, bias):
    before, after = random_model(shapes, 0), random_model(shapes, 1)
    needs = {"update_norm", "weight_norm", "bias_norm", "weight_update", "bias_update"}

    flat = ArrayLayout.of(before, wants_final_layer=True)
    found = measure(needs, flat.vector(after), flat.vector(before), flat.final_layer)

    changes = {
        key: [float(a) - float(b) for a, b in zip(after[key].flat, before[key].flat, strict=True)]
        for key in (weight, bias)
    }
    for name, keys in (
        ("weight_norm", [weight]),
        ("bias_norm", [bias]),
        ("update_norm", [weight, bias]),
    ):
        total = math.sqrt(sum(change**2 for key in keys for change in changes[key]))
        assert found[name] == pytest.approx(total, rel=1e-6)
    difference = after[weight].astype(np.float64) - before[weight]
    by_class = difference if weight == "head.weight" else difference.T
    np.testing.assert_allclose(found["weight_update"], by_class, rtol=1e-6)


@pytest.mark.parametrize("shapes", [TORCH, KERAS], ids=["torch", "keras"])
def test_a_model_survives_being_flat(shapes):
    original = random_model(shapes, 0) | {"count": np.array(7, dtype=np.int64)}
    flat = ArrayLayout.of(original, wants_final_layer=True)

    again = flat.arrays(flat.vector(original), original)

    assert list(again) == list(original)
    for key, array in original.items():
        np.testing.assert_array_equal(again[key], array)
        assert again[key].dtype == array.dtype


def test_the_final_layer_can_be_named():
    flat = ArrayLayout.of(random_model(TORCH, 0), "body", wants_final_layer=True)

    assert flat.final_layer.num_classes == 5


def test_a_report_holds_the_means_of_losses_and_of_their_squares():
    losses = [0.1, 2.5, 0.7]

    metrics = report(40, losses)

    assert metrics["num-examples"] == 40
    assert metrics["train_loss"] == pytest.approx(sum(losses) / 3)
    assert metrics["train_squared_loss"] == pytest.approx(sum(x * x for x in losses) / 3)
    with pytest.raises(ConfigurationError, match="losses must be one number per example seen"):
        report(40, [])


def test_a_client_that_cannot_tell_its_loss_is_not_taken(tmp_path):
    from flwr.clientapp import ClientApp

    from terrafl.flower import answer

    nodes = federation(3)
    for node in list(nodes.values())[:2]:
        train, app = node.app, ClientApp()
        app.train()(train)
        app.evaluate()(train)
        answer(app, num_examples=lambda context: 100)
        node.app = app

    result = ClientSelection(FedAvg(), PowerOfChoice(), clients_per_round=2).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    assert result.arrays != model()


def test_a_subset_of_a_grid_shows_just_its_nodes():
    nodes = federation(5)
    grid = local_grid(nodes)
    shown = list(nodes)[1:3]

    subset = SubsetGrid(grid, shown)
    message = Message(RecordDict({"c": ConfigRecord()}), shown[0], "train")
    (reply,) = subset.send_and_receive([message], timeout=1)

    assert subset.get_node_ids() == shown
    assert {node.node_id for node in subset.get_nodes()} == set(shown)
    assert reply.metadata.src_node_id == shown[0]


def test_a_strategy_with_a_privacy_accountant_keeps_no_run_folder(tmp_path):
    base = FedAvg()
    base.accountant = object()

    with pytest.raises(ConfigurationError, match="privacy accountant cannot be resumed"):
        ClientSelection(base, Terraform(), clients_per_round=3, out=tmp_path)
