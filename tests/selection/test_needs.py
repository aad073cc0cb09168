"""The registry of measurements: what is in it, what it refuses, how reports carry it."""

from dataclasses import replace

import numpy as np
import pytest
from registered import registered

from terrafl.errors import ConfigurationError
from terrafl.records import MEASURED_FIELDS, Report
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.needs import Measurement, find, known, measure, modules_of, register
from terrafl.selection.report import judge

MODEL_NORM = Measurement(
    name="model_norm",
    source="server",
    function=lambda model, received, layer: np.linalg.norm(model - received),
    wire_bytes=0,
)
CUBED_LOSS = Measurement(name="cubed_loss", source="client", function=lambda loss: loss**3)
SIGNED = Measurement(name="drift", source="client", function=lambda loss: -loss, is_signed=True)
ROWS = Measurement(
    name="row_norms",
    source="server",
    function=lambda m, r, layer: np.abs(layer.bias_update(m, r)),
    shape=lambda layer: layer.bias_shape,
    uses_final_layer=True,
)


def a_report(**values):
    return Report(client_id="a", round=0, iteration=0, num_examples=9).with_values(values)


def judged(*reports, **options):
    return judge(reports, cohort=["a"], round=0, iteration=0, **options)


def test_a_report_has_an_attribute_for_every_built_in_measurement():
    assert set(known()) == MEASURED_FIELDS
    assert {name: m.wire_bytes for name, m in known().items() if m.wire_bytes != 8} == {
        "weight_update": 0,
        "bias_update": 0,
    }


def test_the_server_measures_what_its_formula_says():
    draw = np.random.default_rng(0)
    model, received = draw.normal(size=(2, 12)).astype(np.float32)
    layer = FinalLayer(slice(4, 10), slice(10, 12), num_classes=2)
    change = [float(a) - float(b) for a, b in zip(model, received, strict=True)]

    with registered(MODEL_NORM, ROWS):
        values = measure(set(known()), model, received, layer)
        without = measure(set(known()), model, received, None)

    assert values["update_norm"] == pytest.approx(sum(c * c for c in change[4:]) ** 0.5)
    assert values["weight_norm"] == pytest.approx(sum(c * c for c in change[4:10]) ** 0.5)
    assert values["bias_norm"] == pytest.approx(sum(c * c for c in change[10:]) ** 0.5)
    assert values["weight_update"].tolist() == [change[4:7], change[7:10]]
    assert values["bias_update"].tolist() == change[10:]
    assert values["model_norm"] == pytest.approx(sum(c * c for c in change) ** 0.5)
    assert type(values["model_norm"]) is float  # numpy's float32 is no JSON
    assert values["row_norms"].tolist() == [abs(c) for c in change[10:]]
    assert set(without) == {"model_norm"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "a norm"}, "name must be a Python identifier; got 'a norm'"),
        ({"source": "oracle"}, "source of odd must be one of server, client, clock; got 'oracle'"),
        ({"function": None}, "function of odd must be a callable; got None"),
        ({"source": "clock"}, "function of odd must be None for a clock"),
        ({"shape": lambda layer: (1,)}, "shape of odd must be None unless the server measures"),
        ({"wire_bytes": -1}, "wire_bytes of odd must be an integer of at least 0; got -1"),
    ],
)
def test_an_invalid_measurement_is_refused(changes, message):
    settings = {"name": "odd", "source": "client", "function": abs} | changes

    with pytest.raises(ConfigurationError, match=message):
        Measurement(**settings)


def test_a_name_in_use_is_refused_and_a_module_may_be_loaded_again():
    with pytest.raises(ConfigurationError, match=r"'loss' was registered by terrafl.selection"):
        register(replace(CUBED_LOSS, name="loss"))

    with registered(CUBED_LOSS):
        again = replace(CUBED_LOSS, wire_bytes=4, module=find("cubed_loss").module)
        register(again)

        assert find("cubed_loss").wire_bytes == 4
        assert find("cubed_loss").metric == "cubed_loss"
        with pytest.raises(ConfigurationError, match="choose another name"):
            register(replace(CUBED_LOSS, module="another"))
    assert "cubed_loss" not in known()


def test_it_is_known_who_registered_what_clients_measure():
    with registered():
        register(CUBED_LOSS)

        assert modules_of({"cubed_loss", "loss", "update_norm"}) == (__name__,)


def test_a_report_carries_registered_measurements_beside_its_own():
    report = a_report(loss=0.5, cubed_loss=0.125).with_values({"drift": -1.0})

    assert report.loss == report.value("loss") == 0.5
    assert report.extra == {"cubed_loss": 0.125, "drift": -1.0}
    assert report.value("drift") == -1.0
    assert report.value("model_norm") is None
    assert report.value("client_id") is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "cubed_loss is missing"),
        (float("nan"), "cubed_loss must be finite and not negative, got nan"),
        (-1.0, "cubed_loss must be finite and not negative, got -1.0"),
        ("1", "cubed_loss must be a number, got '1'"),
        ([0.1, 0.2], r"cubed_loss must be a number, got [0.1, 0.2]"),
    ],
)
def test_a_registered_measurement_is_checked_like_a_built_in_one(value, reason):
    with registered(CUBED_LOSS):
        accepted, refused = judged(a_report(cubed_loss=value), needs={"cubed_loss"})

    assert accepted == ()
    assert [refusal.reason for refusal in refused] == [reason]


def test_a_signed_number_may_be_negative_and_must_be_finite():
    with registered(SIGNED):
        accepted, _ = judged(a_report(drift=-3.0), needs={"drift"})
        _, refused = judged(a_report(drift=-float("inf")), needs={"drift"})

    assert len(accepted) == 1
    assert refused[0].reason == "drift must be finite, got -inf"


def test_an_array_is_checked_against_the_final_layer_and_compared_with_its_copy():
    fitting, long = (a_report(row_norms=np.ones(n)) for n in (2, 3))
    with registered(ROWS):
        accepted, refused = judged(
            fitting, a_report(row_norms=np.ones(2)), long, shapes={"row_norms": (2,)}
        )
        _, different = judged(fitting, a_report(row_norms=np.zeros(2)))

    assert accepted == (fitting,)
    assert [r.reason for r in refused] == [
        "repeated: this client has reported already",
        "row_norms must have shape (2,), got (3,)",
    ]
    assert len(different) == 2
