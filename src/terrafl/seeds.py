"""Keyed random streams: the key of a stream says what its random numbers are for.

A stream depends only on ``(seed, purpose, round, iteration, client)``, so no generator state is
stored. A resumed run derives the same stream again. Two selectors that are compared under one
seed see the same data, initial model, candidates and mini-batches.

No other module changes torch's global generator.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


def _key(purpose: str, round: int, iteration: int, client: str) -> tuple[int, ...]:
    # Always eight words: SeedSequence concatenates keys, so keys of different length could collide.
    text = f"{purpose}\n{round}\n{iteration}\n{client}"
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4))


def stream(
    seed: int, purpose: str, *, round: int = 0, iteration: int = 0, client: str = ""
) -> np.random.Generator:
    """Return the random generator for this key.

    Examples
    --------
    >>> a = stream(0, "batches", round=3, client="17").random(2)
    >>> b = stream(0, "batches", round=3, client="17").random(2)
    >>> c = stream(0, "batches", round=4, client="17").random(2)
    >>> bool((a == b).all()), bool((a == c).any())
    (True, False)
    """
    sequence = np.random.SeedSequence(seed, spawn_key=_key(purpose, round, iteration, client))
    return np.random.Generator(np.random.Philox(sequence))


@contextmanager
def torch_stream(
    seed: int, purpose: str, *, round: int = 0, iteration: int = 0, client: str = ""
) -> Iterator[None]:
    """Seed torch's global generator for this key inside the block, and restore it afterwards.

    Initialisers and dropout can only use the global generator.
    """
    import torch

    number = stream(seed, purpose, round=round, iteration=iteration, client=client).integers(2**63)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(number))
        yield
