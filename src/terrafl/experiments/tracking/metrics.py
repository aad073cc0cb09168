"""What a journal says about each round, as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from terrafl.runs import Summary
from terrafl.settings import dotted

__all__ = ["RoundMetrics", "of_summary", "parameters"]

Event = Mapping[str, Any]  # Any: what JSON can hold

_SHOWN = {
    "accuracy": "accuracy/pooled",
    "accuracy_participating": "accuracy/participating",
    "loss": "loss/pooled",
    "client_updates": "cost/client_updates",
    "samples_trained": "cost/samples_trained",
}
_RESULTS = (
    "accuracy",
    "accuracy_participating",
    "best",
    "mean_last_ten",
    "client_updates",
    "samples_trained",
    "loss_queries",
    "bytes_down",
    "bytes_up",
    "reports_refused",
)


@dataclass(slots=True)
class RoundMetrics:
    """The numbers of one round, gathered event by event."""

    values: dict[str, float] = field(
        default_factory=lambda: {
            "round/iterations": 0.0,
            "round/client_updates": 0.0,
            "round/reports_refused": 0.0,
        }
    )

    def hear(self, event: Event) -> None:
        """Add what one event of the journal says."""
        values = self.values
        match event["event"]:
            case "cohort":
                values["round/iterations"] += 1
                values["round/client_updates"] += len(event["clients"])
            case "refused":
                values["round/reports_refused"] += 1
            case "evaluation":
                found = {_SHOWN[key]: event.get(key) for key in _SHOWN}
                values.update({name: x for name, x in found.items() if x is not None})
            case "split" | "decision" if "hard" in event:
                self._hear_split(event)

    def _hear_split(self, event: Event) -> None:
        if event["iteration"] == 0:  # of everybody drawn; later ones see the hard alone
            norms = [c["update_norm"] for c in event["clients"] if "update_norm" in c]
            if norms:
                self.values["selection/update_norm_mean"] = sum(norms) / len(norms)
                self.values["selection/update_norm_max"] = max(norms)
        self.values["selection/hard_clients"] = len(event["hard"])


def of_summary(summary: Summary) -> dict[str, float]:
    """Return what came out of a run, under ``result/``."""
    return {f"result/{name}": float(getattr(summary, name)) for name in _RESULTS}


def parameters(plain: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    """Return the settings of a configuration by dotted name; lists are written as text.

    Examples
    --------
    >>> parameters({"rounds": 5, "model": {"name": "mlp", "hidden": [64]}})
    {'rounds': 5, 'model.name': 'mlp', 'model.hidden': '[64]'}
    """
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in dotted(plain).items()
    }
