"""Evaluations of the global model: which may be averaged, and how they are written down."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeGuard

from flwr.app import Message, MetricRecord

from terrafl.flower.border import alike, metrics_of
from terrafl.flower.rounds import FlowerRounds
from terrafl.runs.summary import Point

__all__ = ["note_evaluation", "sound_evaluations"]


def sound_evaluations(rounds: FlowerRounds, replies: Iterable[Message]) -> list[Message]:
    """Return the evaluations that a strategy can average, in the order of clients.

    They are finite and have the same metrics. Sums depend on their order in the last digits, and
    Flower draws the order of nodes at random.
    """
    named = {rounds.roster.name(reply.metadata.src_node_id): reply for reply in replies}
    judged = {name: metrics_of(named[name]) for name in sorted(named)}
    fit = {name: metrics for name, metrics in judged.items() if not isinstance(metrics, str)}
    odd = alike(fit)
    return [named[name] for name in fit if name not in odd]


def note_evaluation(rounds: FlowerRounds, metrics: MetricRecord, accuracy_key: str) -> None:
    """Write an evaluation into the journal and onto the curve, if it tells the accuracy."""
    state, accuracy = rounds.state, metrics.get(accuracy_key)
    if not _is_finite(accuracy):
        return
    own = state.history.evaluate.get(state.round + 1, metrics).get(accuracy_key)
    costs = state.costs
    state.accuracy_participating = float(own if _is_finite(own) else accuracy)
    state.curve.append(
        Point(state.round + 1, costs.client_updates, costs.samples_trained, float(accuracy))
    )
    loss = metrics.get("loss")
    rounds.trace.note(
        {
            "event": "evaluation",
            "round": state.round,
            "accuracy": float(accuracy),
            "accuracy_participating": state.accuracy_participating,
            "loss": float(loss) if _is_finite(loss) else None,  # of a model that has diverged
            "client_updates": costs.client_updates,
            "samples_trained": costs.samples_trained,
        }
    )


def _is_finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and math.isfinite(value)
