"""What the guard did to whom, as journal events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from terrafl.selection.protocol import Json
from terrafl.selection.report import Report

__all__ = ["Action", "Log"]

Action = Literal["quarantined", "clipped", "capped", "corrected", "withheld"]


@dataclass(slots=True)
class Log:
    """The guard's actions in one iteration, in the order they were taken."""

    entries: list[tuple[Action, str, str]] = field(default_factory=list)

    def note(self, action: Action, client_id: str, reason: str) -> None:
        """Remember an action."""
        self.entries.append((action, client_id, reason))

    def events(self, reports: Sequence[Report]) -> tuple[Mapping[str, Json], ...]:
        """Return one event per action, stamped like the reports that were inspected."""
        return tuple(
            {
                "event": "guard",
                "round": reports[0].round,
                "iteration": reports[0].iteration,
                "client": client_id,
                "action": action,
                "reason": reason,
            }
            for action, client_id, reason in self.entries
        )
