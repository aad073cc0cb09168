"""From what arrived in one iteration to the reports that a selector may hear."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.flower import wire
from terrafl.flower.border import Sound, alike, sound_reply, too_large
from terrafl.flower.exchange import Arrival
from terrafl.flower.final_layer import FinalLayer
from terrafl.selection import Refusal, Report, judge
from terrafl.selection.report import Need

__all__ = ["Replies", "judge_replies"]

_TOLD: Mapping[Need, str] = {"loss": wire.TRAIN_LOSS, "squared_loss": wire.SQUARED_LOSS}


@dataclass(frozen=True, slots=True, eq=False)
class Replies:
    """The replies of one iteration after the border.

    Parameters
    ----------
    accepted
        Reports that may be believed, in the order of client ids.
    sound
        The replies they came with, by client.
    refused
        The rest, and why.
    """

    accepted: tuple[Report, ...]
    sound: Mapping[str, Sound]
    refused: tuple[Refusal, ...]


def judge_replies(
    arrivals: Mapping[str, Arrival | None],
    *,
    nodes: Mapping[str, int],
    sent: Mapping[str, NDArray[np.generic]],
    weight_key: str,
    final_layer: str | None,
    known_sizes: Sequence[int],
    round: int,
    iteration: int,
    needs: Collection[Need],
    timeout_s: float,
) -> Replies:
    """Separate the replies that may be believed from those that may not.

    Parameters
    ----------
    arrivals
        What came, by client; ``None`` where nothing did.
    nodes
        The node that each client is on.
    sent
        The model that was sent.
    weight_key
        The metric that holds the number of examples.
    final_layer
        Name of the final layer; ``None``: found by itself.
    known_sizes
        Sizes accepted before.
    round, iteration, needs
        What was asked.
    timeout_s
        How long was waited.
    """
    sound: dict[str, Sound] = {}
    faults: dict[str, str] = {}
    for client, arrival in arrivals.items():
        if arrival is None:
            faults[client] = f"no reply within {timeout_s:g} s"
            continue
        judged = sound_reply(
            arrival.message,
            arrival.seconds,
            node_id=nodes[client],
            sent=sent,
            weight_key=weight_key,
        )
        if isinstance(judged, str):
            faults[client] = judged
        else:
            sound[client] = judged
    faults |= too_large({c: reply.num_examples for c, reply in sound.items()}, known_sizes)
    faults |= alike({c: reply.metrics for c, reply in sound.items() if c not in faults})
    measured = {"update_norm", "weight_norm", "bias_norm", "weight_update", "bias_update"}
    layer = FinalLayer.find(sent, final_layer) if measured & set(needs) else None
    reports = [
        Report(
            client_id=client,
            round=round,
            iteration=iteration,
            num_examples=reply.num_examples,
            **{need: _answer(need, reply, sent, layer) for need in needs},  # type: ignore[arg-type]  # keyed by Need
        )
        for client, reply in sound.items()
        if client not in faults
    ]
    accepted, refused = judge(
        reports, cohort=arrivals.keys(), round=round, iteration=iteration, needs=needs
    )
    others = [Refusal(client, reason) for client, reason in sorted(faults.items())]
    return Replies(accepted, sound, (*others, *refused))


def _answer(
    need: Need,
    reply: Sound,
    sent: Mapping[str, NDArray[np.generic]],
    layer: FinalLayer | None,
) -> object:
    """Return a field of a report: measured here wherever it can be, else as the client says."""
    if need == "duration_s":
        return reply.seconds
    if need in _TOLD:
        return reply.metrics.get(_TOLD[need])
    assert layer is not None
    return layer.answer(need, sent, reply.arrays)
