"""What a run on Flower shall do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FlowerPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowerPlan:
    """How many rounds, how wide, how patient.

    Parameters
    ----------
    num_rounds
        Rounds to run, $R$.
    clients_per_round
        Clients wanted at the start of a round, $K$.
    seed
        Of every random stream.
    epochs
        Passes over its data in one local training of a client, for the account of samples.
    timeout_s
        Longest wait for replies.
    wait_s
        Longest wait for clients to connect.
    final_layer
        Its name; ``None``: found by itself.
    """

    num_rounds: int
    clients_per_round: int
    seed: int
    epochs: int
    timeout_s: float
    wait_s: float
    final_layer: str | None = None
