"""The metrics of a run on Flower, as its result returns them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from flwr.app import MetricRecord


@dataclass(slots=True)
class History:
    """The metrics of the rounds so far, by Flower's number of the round.

    Parameters
    ----------
    train, evaluate
        Averages over clients.
    central
        What the caller's ``evaluate_fn`` returned.
    """

    train: dict[int, MetricRecord] = field(default_factory=dict)
    evaluate: dict[int, MetricRecord] = field(default_factory=dict)
    central: dict[int, MetricRecord] = field(default_factory=dict)

    def to_plain(self) -> dict[str, dict[str, dict[str, Any]]]:  # Any: what JSON can hold
        """Return the metrics as JSON values, without those that are not finite."""
        return {
            kind.name: {str(n): _finite(metrics) for n, metrics in getattr(self, kind.name).items()}
            for kind in fields(self)
        }

    def restore(self, plain: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        """Take up what :meth:`to_plain` returned."""
        for name, records in plain.items():
            restored = {int(number): MetricRecord(dict(m)) for number, m in records.items()}
            setattr(self, name, restored)


def _finite(metrics: MetricRecord) -> dict[str, Any]:  # Any: what JSON can hold
    return {name: value for name, value in metrics.items() if np.isfinite(value).all()}
