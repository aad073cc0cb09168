"""What a journal says about each round, as numbers by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from terrafl.experiments.tracking.protocol import Parameter
from terrafl.runs import Summary
from terrafl.runs.events import Cohort, Evaluation, Event, Refused, Split

__all__ = ["RoundMetrics", "parameters", "summary_metrics"]

_COUNTS = ("round/iterations", "round/client_updates", "round/reports_refused")
_RESULTS = (
    *("accuracy", "accuracy_participating", "best", "mean_last_ten", "client_updates"),
    *("samples_trained", "loss_queries", "bytes_down", "bytes_up", "reports_refused"),
)


@dataclass(slots=True)
class RoundMetrics:
    """The numbers of one round, gathered event by event."""

    values: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0.0))

    def add(self, event: Event) -> None:
        """Add one event of the journal."""
        values = self.values
        match event:
            case Cohort():
                values["round/iterations"] += 1
                values["round/client_updates"] += len(event.clients)
            case Refused():
                values["round/reports_refused"] += 1
            case Evaluation():
                values |= {
                    "accuracy/pooled": event.accuracy,
                    "accuracy/participating": event.accuracy_participating,
                    "cost/client_updates": event.costs.client_updates,
                    "cost/samples_trained": event.costs.samples_trained,
                }
                if event.loss is not None:
                    values["loss/pooled"] = event.loss
            case Split():
                # A round's first split is of all clients drawn; later ones see hard clients only.
                if event.iteration == 0 and event.measure == "update_norm":
                    norms = [client.value for client in event.clients]
                    values["selection/update_norm_mean"] = sum(norms) / len(norms)
                    values["selection/update_norm_max"] = max(norms)
                values["selection/hard_clients"] = len(event.hard)


def summary_metrics(summary: Summary) -> dict[str, float]:
    """Return the results of a run, under ``result/``."""
    return {f"result/{name}": float(getattr(summary, name)) for name in _RESULTS}


def parameters(settings: Mapping[str, object]) -> dict[str, Parameter]:
    """Return settings as a tracker can show them: lists are written as text.

    Examples
    --------
    >>> parameters({"rounds": 5, "model.hidden": [64]})
    {'rounds': 5, 'model.hidden': '[64]'}
    """
    return {
        name: value if isinstance(value, str | int | float | bool) else str(value)
        for name, value in settings.items()
    }
