"""What attackers send, by the table of their module."""

import numpy as np
import pytest

from terrafl.defences import KINDS, Attack, Attackers, draw_attackers
from terrafl.errors import ConfigurationError
from terrafl.seeds import stream
from terrafl.selection import Population, Report, judge

RECEIVED = np.array([1.0, 2.0], dtype=np.float32)
TRAINED = np.array([1.5, 1.0], dtype=np.float32)
INITIAL = np.array([9.0, 9.0], dtype=np.float32)
MODELS = {
    "sign-flip": [0.5, 3.0],
    "model-replacement": [8.5, -13.0],
    "free-riding": [1.0, 2.0],
    "stale": [9.0, 9.0],
    "nan-bomb": [np.nan, 1.0],
}


def attackers(kind, **settings):
    return Attackers(Attack(kind=kind, **settings), ("bad",), INITIAL)


def report(client="bad", round=3, iteration=2):
    return Report(
        client_id=client,
        round=round,
        iteration=iteration,
        num_examples=40,
        update_norm=2.0,
        bias_norm=1.0,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_attacker_sends_the_model_of_its_kind(kind):
    sent = attackers(kind).model("bad", TRAINED, RECEIVED)

    assert np.array_equal(sent, np.float32(MODELS.get(kind, TRAINED)), equal_nan=True)
    assert TRAINED.tolist() == [1.5, 1.0]  # what it was given is left alone


@pytest.mark.parametrize("kind", KINDS)
def test_honest_clients_send_what_they_should(kind):
    crowd = attackers(kind)

    assert crowd.model("good", TRAINED, RECEIVED) is TRAINED
    assert crowd.report(report("good")) == report("good")


def test_inflated_norms_and_sizes_are_multiplied():
    loud = attackers("norm-inflation").report(report())
    large = attackers("size-inflation", strength=2.5).report(report())

    assert (loud.update_norm, loud.bias_norm, loud.weight_norm) == (20.0, 10.0, None)
    assert (loud.num_examples, large.num_examples, large.update_norm) == (40, 100, 2.0)


@pytest.mark.parametrize(("round", "iteration"), [(3, 2), (3, 0)])
def test_a_replayed_report_is_refused_at_the_border(round, iteration):
    old = attackers("replay").report(report(round=round, iteration=iteration))

    accepted, refused = judge([old], cohort=["bad"], round=round, iteration=iteration)

    assert accepted == ()
    assert refused[0].reason.startswith("wrong ")


def test_the_first_request_of_a_run_has_nothing_before_it():
    assert attackers("replay").report(report(round=0, iteration=0)) == report("bad", 0, 0)


def test_who_attacks_depends_on_the_seed_and_on_nothing_else():
    population = Population.of({f"{i:03}": 1 + i for i in range(100)})

    def drawn(seed, kind="sign-flip", fraction=0.1):
        attack = Attack(kind=kind, fraction=fraction)
        return draw_attackers(attack, population, stream(seed, "attackers"))

    assert len(drawn(0)) == len(set(drawn(0))) == 10
    assert drawn(0) == drawn(0, "stale")
    assert drawn(0) != drawn(1)
    assert list(drawn(0)) == sorted(drawn(0))
    assert len(drawn(0, fraction=0.001)) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "label-flop"},
        {"kind": "stale", "fraction": 0.0},
        {"kind": "stale", "fraction": 1.0},
        {"kind": "stale", "strength": 2.0},
        {"kind": "sign-flip", "strength": 0.0},
    ],
)
def test_an_attack_that_cannot_be_meant_is_refused(settings):
    with pytest.raises(ConfigurationError):
        Attack(**settings)
