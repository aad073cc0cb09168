"""The round's newest model of every client: aggregation over a whole round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import LocalModel
from terrafl.algorithms.protocol import Vector

__all__ = ["KeptModels"]

Described = tuple[str, float, int]
"""A kept model but for its vector: client id, weight, number of steps."""


@dataclass(slots=True)
class KeptModels:
    """Models of a round's earlier iterations, which stay in its average.

    Averaging an iteration's cohort alone pulls the global model to whoever trained last. With
    kept models a client that trains again replaces its own, and everybody else's stays.
    """

    _newest: dict[str, LocalModel] = field(default_factory=dict)

    def updated(self, models: Sequence[LocalModel]) -> list[LocalModel]:
        """Take an iteration's models; return every client's newest, in client order."""
        for model in models:
            # Workers reuse the memory of what they sent.
            self._newest[model.client_id] = replace(model, vector=model.vector.copy())
        return [self._newest[client_id] for client_id in sorted(self._newest)]

    def clear(self) -> None:
        """Forget the round."""
        self._newest.clear()

    def state(self) -> tuple[list[Described], NDArray[np.float32]]:
        """Return what must survive a restart in the middle of a round: who, and the vectors."""
        models = list(self._newest.values())
        vectors = [model.vector for model in models]
        described = [(model.client_id, model.weight, model.num_steps) for model in models]
        return described, np.stack(vectors) if vectors else np.empty((0, 0), dtype=np.float32)

    @classmethod
    def restored(cls, described: Iterable[Described], vectors: Iterable[Vector]) -> KeptModels:
        """Take up what :meth:`state` returned."""
        return cls(
            {
                client_id: LocalModel(
                    client_id=client_id, vector=vector, weight=weight, num_steps=num_steps
                )
                for (client_id, weight, num_steps), vector in zip(described, vectors, strict=True)
            }
        )
