"""Checks of replies: a bad one is dropped with its reason, and the round continues."""

import numpy as np
import pytest
from flower_here import events, federation, local_grid, model
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("flwr", reason="flwr is installed by make test-flower")

from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp.strategy import FedAvg, FedMedian

from terrafl import Oort, Random, Terraform
from terrafl.flower import ClientSelection
from terrafl.flower.reply_checks import checked_reply

pytestmark = pytest.mark.usefixtures("flower")


def with_array(content, key, array):
    content["arrays"][key] = Array(np.asarray(array))


def with_metric(content, **values):
    content["metrics"] = MetricRecord({**dict(content["metrics"].items()), **values})


def without(record, key):
    def spoil(content):
        content[record] = type(content[record])(
            {k: v for k, v in content[record].items() if k != key}
        )

    return spoil


def raises(content):
    raise RuntimeError("out of memory\nand more")


SPOILT = {
    "NaN in the head": (
        lambda c: with_array(c, "head.bias", np.array([0, np.nan, 0], dtype=np.float32)),
        "array head.bias must be finite",
    ),
    "infinity elsewhere": (
        lambda c: with_array(c, "body.bias", np.full(6, np.inf, dtype=np.float32)),
        "array body.bias must be finite",
    ),
    "wrong shape": (
        lambda c: with_array(c, "head.weight", np.zeros((3, 7), dtype=np.float32)),
        "array head.weight must have the shape (3, 6), got (3, 7)",
    ),
    "text for numbers": (
        lambda c: with_array(c, "head.bias", np.array(["a", "b", "c"])),
        "array head.bias must hold numbers, got <U1",
    ),
    "bytes that are no array": (
        lambda c: c["arrays"].update(
            {"head.bias": Array("float32", (3,), "numpy.ndarray", b"nonsense")}
        ),
        "array head.bias cannot be read",
    ),
    "missing array": (without("arrays", "body.bias"), "missing body.bias"),
    "extra array": (
        lambda c: with_array(c, "more", np.zeros(1)),
        "not asked for: more",
    ),
    "two models": (
        lambda c: c.update({"again": ArrayRecord({"a": Array(np.zeros(1))})}),
        "exactly one ArrayRecord, got 2",
    ),
    "no metrics": (lambda c: c.pop("metrics"), "exactly one MetricRecord, got 0"),
    "an extra metric": (lambda c: with_metric(c, bonus=1.0), "metrics must be"),
    "a missing metric": (without("metrics", "train_loss"), "metrics must be"),
    "no size": (without("metrics", "num-examples"), "metric num-examples must be an integer"),
    "a wild size": (
        lambda c: with_metric(c, **{"num-examples": 10**12}),
        "num_examples must be at most 13000 (100 x median), got 1000000000000",
    ),
    "a negative size": (
        lambda c: with_metric(c, **{"num-examples": -39}),
        "num_examples must be an integer of at least 1",
    ),
    "half an example": (
        lambda c: with_metric(c, **{"num-examples": 0.5}),
        "metric num-examples must be an integer, got 0.5",
    ),
    "NaN examples": (
        lambda c: with_metric(c, **{"num-examples": float("nan")}),
        "metric num-examples must be finite",
    ),
    "NaN loss": (
        lambda c: with_metric(c, train_loss=float("nan")),
        "metric train_loss must be finite, got nan",
    ),
    "an exception": (raises, "no result: <class 'RuntimeError'>:<out of memory and more>"),
}


@pytest.mark.parametrize(("spoil", "reason"), SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("base", [FedAvg, FedMedian])
def test_a_bad_reply_is_dropped_with_its_reason(spoil, reason, base, tmp_path):
    nodes = federation(7)
    bad = next(node for node in nodes.values() if node.config["partition-id"] == 3)
    bad.app = next(iter(federation(1, sizes=[130], spoil=lambda c, _: spoil(c)).values())).app
    honest = {i: node for i, node in nodes.items() if node is not bad}

    selection = ClientSelection(base(), Random(), clients_per_round=7, out=tmp_path)
    result = selection.start(local_grid(nodes), model(), num_rounds=1, timeout=5)
    without_it = ClientSelection(base(), Random(), clients_per_round=7, wait_s=0.1).start(
        local_grid(honest), model(), num_rounds=1, timeout=5
    )

    (refused,) = events(tmp_path, "refused")
    assert (refused["client"], refused["round"], refused["iteration"]) == ("3", 0, 0)
    assert reason in refused["reason"]
    for key, array in result.arrays.items():
        np.testing.assert_array_equal(array.numpy(), without_it.arrays[key].numpy())


def test_a_reply_in_another_order_is_the_same_reply():
    def reorder(content, config):
        content["arrays"] = ArrayRecord(dict(reversed(content["arrays"].items())))

    def final(**options):
        selection = ClientSelection(FedMedian(), Random(), clients_per_round=5)
        arrays = selection.start(
            local_grid(federation(5, **options)), model(), num_rounds=2, timeout=5
        ).arrays
        return {key: array.numpy().tolist() for key, array in arrays.items()}

    assert final(spoil=reorder) == final()


def test_when_every_reply_is_bad_the_model_is_kept(tmp_path):
    nodes = federation(4, spoil=lambda c, _: with_array(c, "head.bias", np.full(3, np.nan)))

    selection = ClientSelection(FedAvg(), Terraform(), clients_per_round=4, out=tmp_path)
    result = selection.start(local_grid(nodes), model(), num_rounds=2, timeout=5)

    assert len(events(tmp_path, "refused")) == 8
    assert result.arrays == model()


def test_a_model_that_overflows_on_the_server_is_not_taken(tmp_path):
    huge = np.full(3, 3e38, dtype=np.float32)
    nodes = federation(4, spoil=lambda c, _: with_array(c, "head.bias", huge))
    base = FedAvg()
    aggregate = base.aggregate_train

    def doubled(server_round, replies):
        arrays, metrics = aggregate(server_round, replies)
        with np.errstate(over="ignore"):
            arrays["head.bias"] = Array(arrays["head.bias"].numpy() * np.float32(2))
        return arrays, metrics

    base.aggregate_train = doubled
    selection = ClientSelection(base, Random(), clients_per_round=4, out=tmp_path)
    result = selection.start(local_grid(nodes), model(), num_rounds=1, timeout=5)

    assert [e["reason"] for e in events(tmp_path, "not aggregated")] == ["the model is not finite"]
    assert result.arrays == model()


def test_a_missing_loss_is_named(tmp_path):
    nodes = federation(4, spoil=lambda c, _: without("metrics", "train_squared_loss")(c))

    ClientSelection(FedAvg(), Oort(), clients_per_round=4, out=tmp_path).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    assert {e["reason"] for e in events(tmp_path, "refused")} == {"squared_loss is missing"}


def test_a_bad_evaluation_is_left_out():
    from flwr.app import Message, RecordDict
    from flwr.clientapp import ClientApp

    nodes = federation(4)
    spoilt = ClientApp()

    @spoilt.evaluate()
    def evaluate(message, context):
        metrics = MetricRecord({"num-examples": 10, "accuracy": float("nan"), "more": 1})
        return Message(RecordDict({"metrics": metrics}), reply_to=message)

    next(iter(nodes.values())).app = spoilt

    result = ClientSelection(FedAvg(), Random(), clients_per_round=4).start(
        local_grid(nodes), model(), num_rounds=1, timeout=5
    )

    assert result.evaluate_metrics_clientapp[1]["accuracy"] == pytest.approx(0.5)


numbers = st.one_of(
    st.integers(-(10**400), 10**400), st.floats(), st.lists(st.floats(), max_size=3)
)


@given(
    data=st.binary(max_size=200),
    shape=st.lists(st.integers(-3, 2**40), max_size=3),
    metrics=st.dictionaries(st.text(max_size=5) | st.just("num-examples"), numbers, max_size=4),
    kind=st.sampled_from(["numpy.ndarray", "pickle", ""]),
)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_checks_give_a_reason_for_anything_a_client_can_send(data, shape, metrics, kind):
    from flwr.app import Message, RecordDict

    sent = {"a": np.zeros(2, dtype=np.float32)}
    asked = Message(RecordDict({"c": ConfigRecord()}), 5, "train")
    record = RecordDict({"m": ArrayRecord({"a": Array("float32", tuple(shape), kind, data)})})
    record["n"] = MetricRecord(metrics)

    judged = checked_reply(
        Message(record, reply_to=asked), node_id=5, sent=sent, weight_key="num-examples"
    )

    assert isinstance(judged, str)
    assert judged.isprintable()


def test_a_reply_for_another_node_is_refused():
    from flwr.app import Message, RecordDict

    asked = Message(RecordDict({"c": ConfigRecord()}), 5, "train")
    reply = Message(
        RecordDict({"m": MetricRecord({"num-examples": 3}), "a": ArrayRecord()}), reply_to=asked
    )

    assert "another node" in checked_reply(reply, node_id=6, sent={}, weight_key="num-examples")
