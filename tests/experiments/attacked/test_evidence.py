"""What a journal says about attackers, on a journal short enough to check by hand."""

import pytest

from terrafl.experiments.attacked.results import weigh
from terrafl.runs.events import Attackers, Averaged, Cohort, Guarded, Refused


def cohort(round, iteration, clients):
    return Cohort(round=round, iteration=iteration, clients=list(clients))


def averaged(round, iteration, **weights):
    clients, values = list(weights), list(weights.values())
    return Averaged(round=round, iteration=iteration, clients=clients, weights=values)


def acted(round, iteration, client, action):
    where = {"round": round, "iteration": iteration, "client": client, "reason": "so"}
    return Refused(**where) if action == "refused" else Guarded(**where, action=action)


JOURNAL = [
    Attackers(attack="sign-flip", clients=["x", "y"]),
    cohort(0, 0, "abx"),
    averaged(0, 0, a=1.0, b=1.0, x=2.0),
    acted(0, 0, "x", "clipped"),
    acted(0, 0, "x", "capped"),
    acted(0, 0, "a", "withheld"),
    cohort(0, 1, "bx"),
    averaged(0, 1, b=3.0, x=1.0),
    acted(0, 1, "x", "corrected"),
    cohort(1, 0, "axy"),
    acted(1, 0, "y", "refused"),
    acted(1, 0, "a", "quarantined"),
    averaged(1, 0, x=4.0),
]


def test_a_share_is_summed_over_the_round_and_averaged_over_draws():
    evidence = weigh(JOURNAL)

    honest = (1 / 4 + (1 / 4 + 3 / 4) + 0) / 3  # a and b in round 0, a in round 1
    attacker_x = ((2 / 4 + 1 / 4) + 1) / 2
    attacker_y = 0.0
    assert evidence.share == pytest.approx((2 / 4 + 1 / 4 + 1 + attacker_y) / 3 / honest)
    assert evidence.largest_share == pytest.approx(attacker_x / honest)
    assert (evidence.attackers, evidence.draws) == (2, 3)


def test_an_update_is_caught_or_bounded_once_whatever_else_is_done_to_it():
    evidence = weigh(JOURNAL)

    # x sent three updates, y one; a sent two, b two.
    assert (evidence.caught, evidence.falsely_caught) == (2 / 4, 1 / 4)
    assert (evidence.bounded, evidence.falsely_bounded) == (1 / 4, 0.0)
    assert evidence.actions["withheld"] == (0.0, 1 / 4)


def test_attackers_who_were_never_drawn_leave_no_evidence():
    evidence = weigh([JOURNAL[0], cohort(0, 0, "ab"), averaged(0, 0, a=1.0, b=1.0)])

    assert evidence.share is evidence.largest_share is evidence.caught is None
    assert (evidence.draws, evidence.falsely_caught) == (0, 0.0)
