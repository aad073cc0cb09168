"""Keyed random streams: every random number is a function of what it is for.

A stream is derived from ``(seed, purpose, round, iteration, client)`` and from nothing else, so
no generator state is ever stored: a resumed run asks for the same stream again, and two
selectors compared under one seed see the same data, initial model, candidates and mini-batches.

This is also the only module that touches torch's global generator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["stream", "torch_stream"]


def _key(purpose: str, round: int, iteration: int, client: str) -> tuple[int, ...]:
    # Eight fixed words: SeedSequence concatenates keys, so keys of varying length could collide.
    text = f"{purpose}\n{round}\n{iteration}\n{client}"
    digest = hashlib.sha256(text.encode()).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4))


def stream(
    seed: int, purpose: str, *, round: int = 0, iteration: int = 0, client: str = ""
) -> np.random.Generator:
    """Return the generator that belongs to this key.

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
    """Give torch's global generator this key's stream inside the block, and restore it after.

    Initialisers and dropout read the global generator and take no other.
    """
    import torch

    number = stream(seed, purpose, round=round, iteration=iteration, client=client).integers(2**63)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(number))
        yield
