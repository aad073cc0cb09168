"""Configurations as plain values, and back; and what sets a selector apart."""

import tomllib
from dataclasses import dataclass, field, replace

import pytest
import tomli_w

from terrafl.algorithms import FedProx
from terrafl.data import Iid
from terrafl.experiments.api import configure
from terrafl.experiments.config import RunConfig, resolve
from terrafl.models import FMNISTCNN
from terrafl.selection import HBase, HiCSFL, Oort, PowerOfChoice, Random, Terraform
from terrafl.simulation.local_training import LearningRateDecay, LocalTraining

SELECTORS = [
    Random(),
    HBase(),
    HBase(replace=False),
    PowerOfChoice(),
    PowerOfChoice(candidates="all", variant="cpow-d", sample_size=7),
    PowerOfChoice(candidates=30),
    HiCSFL(),
    HiCSFL(num_clusters=3, compat="released", temperature=1e-3),
    Oort(),
    Oort(preset="hics", exploration=0.5, max_participations="unlimited"),
    Oort(durations={"a": 1.5, "b": 2.0}),
    Terraform(),
    Terraform(eta=2, max_iterations=3, signal="loss", search_range=(0, "Q3"), weighting="mass"),
    Terraform(search_range=("1/3", 0.9)),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_a_configuration_comes_back_from_plain_values(selector):
    config = configure(selector=selector, seed=3)

    restored = RunConfig.from_plain(config.to_plain())

    assert restored == config
    assert type(restored.selector) is type(selector)


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_a_configuration_comes_back_from_toml(selector):
    config = configure(
        selector=selector,
        algorithm=FedProx(mu=0.25),
        model=FMNISTCNN(variant="hics"),
        partition=Iid(10),
        training=LocalTraining(
            optimizer="adam", lr_decay=LearningRateDecay(every=2, factor=0.5), weight_decay=1e-4
        ),
        patience=4,
        eval_every=2,
    )

    restored = RunConfig.from_plain(tomllib.loads(tomli_w.dumps(config.to_plain())))

    assert restored == config
    assert restored.to_plain() == config.to_plain()


@dataclass(slots=True, kw_only=True)
class Learning(Random):
    """Selects at random and remembers something."""

    rounds_seen: int = field(default=0, init=False)


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_a_fresh_configuration_is_equal_and_shares_no_part(selector):
    config = configure(selector=selector, guard=True)

    fresh = config.fresh()

    assert fresh == config
    assert fresh.parts.keys() == config.parts.keys()
    assert not any(fresh.parts[name] is part for name, part in config.parts.items())


def test_the_selector_of_a_fresh_configuration_has_learned_nothing():
    config = replace(configure(), selector=Learning())
    config.selector.rounds_seen = 3

    assert config.fresh().selector.rounds_seen == 0
    assert config.selector.rounds_seen == 3


def test_what_is_left_out_stays_out():
    plain = resolve().to_plain()

    assert "patience" not in plain
    assert "max_iterations" not in plain["selector"]


@pytest.mark.parametrize(
    ("selector", "variant"),
    [
        (Random(), ""),
        (Terraform(), ""),
        (Terraform(eta=4), ""),
        (Terraform(eta=2), "eta=2"),
        (Terraform(eta=2, signal="bias"), "eta=2,signal=bias"),
        (Terraform(search_range=("0", "Q3")), "search_range=0-Q3"),
        (HBase(replace=False), "replace=False"),
        (Oort(preset="fedscale"), "preset=fedscale"),
        (PowerOfChoice(candidates="all"), "candidates=all"),
    ],
    ids=repr,
)
def test_a_variant_names_what_differs_from_the_defaults(selector, variant):
    assert configure(selector=selector).variant == variant
