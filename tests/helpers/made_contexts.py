"""A selector's context, made up: losses are random numbers keyed by client and round."""

from functools import cache

import numpy as np

from terrafl.seeds import stream
from terrafl.selection import Context, Population


@cache
def a_loss(seed, round, client):
    return stream(seed, "loss", round=round, client=client).random()


def a_context(
    population=None,
    *,
    round=0,
    iteration=0,
    clients_per_round=5,
    num_rounds=30,
    seed=0,
    available=None,
    losses=None,
):
    """Return a context; ``losses`` answers questions instead of the random numbers."""

    def ask(clients, what, *, sample_size=None):
        assert what == "loss"
        if losses is not None:
            return losses(clients, sample_size=sample_size)
        return np.array([a_loss(seed, round, client) for client in clients])

    return Context(
        round=round,
        iteration=iteration,
        num_rounds=num_rounds,
        clients_per_round=clients_per_round,
        population=population or Population.of({"a": 1}),
        generator=stream(seed, "selection", round=round, iteration=iteration),
        ask=ask,
        available=available,
    )
