"""From what arrived in one iteration to the reports that a selector may hear."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.flower import wire
from terrafl.flower.border import Sound, alike, sound_reply, too_large
from terrafl.flower.exchange import Arrival
from terrafl.flower.flat import Flat
from terrafl.selection import Refusal, Report, judge
from terrafl.selection.final_layer import MEASURABLE
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
    flat: Flat,
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
    flat
        How the model lies in a vector.
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
    received = flat.vector(sent)
    reports = [
        Report(
            client_id=client,
            round=round,
            iteration=iteration,
            num_examples=reply.num_examples,
            **flat.final_layer.measure(flat.vector(reply.arrays), received, needs),  # type: ignore[arg-type]  # keyed by Need
            **{need: _told(need, reply) for need in needs if need not in MEASURABLE},  # type: ignore[arg-type]  # keyed by Need
        )
        for client, reply in sound.items()
        if client not in faults
    ]
    accepted, refused = judge(
        reports, cohort=arrivals.keys(), round=round, iteration=iteration, needs=needs
    )
    others = [Refusal(client, reason) for client, reason in sorted(faults.items())]
    return Replies(accepted, sound, (*others, *refused))


def _told(need: Need, reply: Sound) -> object:
    """Return what the model does not show: a duration as measured, a loss as the client says."""
    return reply.seconds if need == "duration_s" else reply.metrics.get(_TOLD[need])
