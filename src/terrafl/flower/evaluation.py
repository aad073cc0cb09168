"""Evaluations of the global model: which may be averaged, and how they are written down."""

from __future__ import annotations

from collections.abc import Sequence

from flwr.app import Message, MetricRecord

from terrafl.flower.border import alike, metrics_of
from terrafl.flower.rounds import FlowerRounds
from terrafl.runs.summary import Point

__all__ = ["note_evaluation", "sound_evaluations"]


def sound_evaluations(replies: Sequence[Message]) -> list[Message]:
    """Return the evaluations that a strategy can average: finite, with the same metrics."""
    judged = {str(number): metrics_of(reply) for number, reply in enumerate(replies)}
    fit = {who: metrics for who, metrics in judged.items() if not isinstance(metrics, str)}
    odd = alike(fit)
    return [replies[int(who)] for who in fit if who not in odd]


def note_evaluation(rounds: FlowerRounds, metrics: MetricRecord, accuracy_key: str) -> None:
    """Write an evaluation into the journal and onto the curve, if it tells the accuracy."""
    state, accuracy = rounds.state, metrics.get(accuracy_key)
    if not isinstance(accuracy, int | float):
        return
    own = state.history.evaluate.get(state.round + 1, metrics).get(accuracy_key)
    costs = state.costs
    state.accuracy_participating = float(own if isinstance(own, int | float) else accuracy)
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
            "loss": float(loss) if isinstance(loss, int | float) else None,
            "client_updates": costs.client_updates,
            "samples_trained": costs.samples_trained,
        }
    )
