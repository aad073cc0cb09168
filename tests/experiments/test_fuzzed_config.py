"""The configuration loader: whatever it is given is a configuration or one clear sentence."""

import tomllib

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from terrafl.errors import ConfigurationError
from terrafl.experiments.config import RunConfig, resolve
from terrafl.experiments.config_layers import read_configuration

KEYS = [
    *("dataset", "scenario", "profile", "partition", "model", "selector", "algorithm", "training"),
    *("backbone", "rounds", "clients_per_round", "seed", "eval_every", "patience", "precision"),
    *("device", "on_client_failure", "name", "clients", "alphas", "alpha", "eta", "mu", "preset"),
    *("learning_rate", "epochs", "batch_size", "optimizer", "lr_decay", "search_range", "signal"),
]
WORDS = [
    *("digits", "fmnist", "alpha-groups", "iid", "linear", "mlp", "terraform", "oort", "hics"),
    *("fedavg", "fedprox", "drop", "sgd", "adam", "Q1", "1/0", "1e999999999", "a:b", ":", "a.b:c"),
]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 2**63, 10**30, -(10**30)])
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
    | st.dates()
    | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)
tables = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), values, max_size=5)


def resolved(*layers):
    """Resolve layers; what comes out must go in again. Return the refusal's words otherwise."""
    try:
        config = resolve(*layers)
    except ConfigurationError as error:
        return str(error)
    assert RunConfig.from_plain(config.to_plain()).to_plain() == config.to_plain()
    return ""


@given(st.lists(tables, max_size=2))
@settings(derandomize=True, deadline=None, max_examples=200)
@example([{"selector": {"name": "terraform", "search_range": ["0", "1e999999999"]}}])
@example([{"partition": {"name": "alpha-groups", "clients": 10**30, "alphas": [1.0]}}])
@example([{"training": {"learning_rate": float("nan")}}])
@example([{"selector": {"name": "tests:\0"}}])
def test_any_layers_are_a_configuration_or_a_sentence(layers):
    sentence = resolved(*layers)

    assert "\n" not in sentence
    assert len(sentence) < 2000


# Files that are nearly right: a good one with something else in the place of a value.
GOOD = """
dataset = "digits"
rounds = 3
clients_per_round = 4
seed = 1
[partition]
name = "alpha-groups"
clients = 8
alphas = [0.1, 1.0]
[selector]
name = "terraform"
eta = 2
[training]
learning_rate = 0.1
lr_decay = { every = 10, factor = 0.5 }
"""


@given(
    position=st.integers(0, len(GOOD)),
    noise=st.binary(max_size=8) | st.sampled_from([b"[" * 5000, b"{a=" * 5000, b"9" * 5000]),
    dropped=st.integers(0, 12),
)
@settings(
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_file_is_a_configuration_or_a_sentence(tmp_path, position, noise, dropped):
    path, good = tmp_path / "config.toml", GOOD.encode()
    path.write_bytes(good[:position] + noise + good[position + dropped :])

    try:
        plain = read_configuration(path)
    except ConfigurationError:
        return
    resolved(plain)


def test_the_good_file_is_good(tmp_path):
    assert resolve(tomllib.loads(GOOD)).rounds == 3


@pytest.mark.parametrize("nested", ["a = " + "[" * 100_000, "a = " + "{a=" * 100_000])
def test_a_file_nested_beyond_reason_is_refused(tmp_path, nested):
    path = tmp_path / "config.toml"
    path.write_text(nested)

    with pytest.raises(ConfigurationError, match="must be a TOML file; maximum recursion depth"):
        read_configuration(path)
