"""The round's newest update of every client: aggregation over a whole round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from terrafl.records import Report, Update

_NUMBERS = ("steps", "draws", "weight", "metrics")


@dataclass(slots=True)
class KeptUpdates:
    """Updates of a round's earlier iterations, which stay in its average (``anchor``).

    Averaging an iteration's cohort alone pulls the global model to the clients that trained last.
    With kept updates the new update of a client replaces its earlier one, and all others stay.
    """

    _newest: dict[str, Update] = field(default_factory=dict)

    def updated(self, updates: Sequence[Update]) -> list[Update]:
        """Take an iteration's updates; return every client's newest, in client order."""
        for update in updates:
            # A federation reuses the memory of what it returned.
            self._newest[update.client_id] = replace(update, vector=update.vector.copy())
        return [self._newest[client_id] for client_id in sorted(self._newest)]

    def clear(self) -> None:
        """Forget the round."""
        self._newest.clear()

    def state(self) -> dict[str, Any]:  # Any: JSON values and arrays
        """Return what must survive a restart in the middle of a round."""
        updates = list(self._newest.values())
        about = [
            {"client_id": u.client_id, "num_examples": u.report.num_examples}
            | {name: getattr(u, name) for name in _NUMBERS}
            for u in updates
        ]
        return {"about": about} | {f"{i}": update.vector for i, update in enumerate(updates)}

    @classmethod
    def restored(cls, state: Mapping[str, Any], round: int) -> KeptUpdates:
        """Take up what :meth:`state` returned; of a report only its size is known again."""
        newest = {}
        for i, about in enumerate(state["about"]):
            vector: NDArray[np.float32] = state[str(i)]
            client, size = str(about["client_id"]), int(about["num_examples"])
            report = Report(client_id=client, round=round, iteration=0, num_examples=size)
            numbers = {name: about[name] for name in _NUMBERS}
            newest[client] = Update(report=report, vector=vector, **numbers)
        return cls(newest)
