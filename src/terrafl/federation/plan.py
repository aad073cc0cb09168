"""How long and how wide a run is."""

from dataclasses import dataclass

MOST_ITERATIONS = 50
"""Iterations in a round, unless a plan says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many rounds, how many clients, how often evaluated.

    Parameters
    ----------
    num_rounds
        Rounds to run, $R$.
    clients_per_round
        Clients wanted at the start of a round, $K$.
    seed
        Of every random stream.
    eval_every
        Rounds between evaluations; the last round is always evaluated.
    patience
        Stop after this many evaluations in a row without a new best; ``None``: never.
    max_iterations_per_round
        Iterations after which a round must have ended; a selector that asks for more stops the
        run.
    """

    num_rounds: int
    clients_per_round: int
    seed: int
    eval_every: int = 1
    patience: int | None = None
    max_iterations_per_round: int = MOST_ITERATIONS
