"""What the guard did to whom, as journal events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from terrafl.runs.events import Guarded

Action = Literal["quarantined", "clipped", "capped", "corrected", "withheld"]


@dataclass(slots=True)
class Log:
    """The guard's actions in one iteration, in the order they were taken."""

    round: int
    iteration: int
    events: list[Guarded] = field(default_factory=list)

    def note(self, action: Action, client_id: str, reason: str) -> None:
        """Record an action."""
        self.events.append(
            Guarded(
                round=self.round,
                iteration=self.iteration,
                client=client_id,
                action=action,
                reason=reason,
            )
        )
