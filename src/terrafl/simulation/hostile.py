"""A federation some of whose clients attack, for experiments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from terrafl.defences.attack import Attackers
from terrafl.federation.protocol import Federation, TrainRequest, TrainResult
from terrafl.records import Update
from terrafl.runs import events
from terrafl.selection.needs import measure


@dataclass(slots=True, eq=False)
class Hostile:
    """Attackers send something other than what they trained; everybody else is unchanged.

    It wraps any federation and hands it whatever it does not change.

    Parameters
    ----------
    inner
        The federation of honest clients.
    attackers
        Who attacks, and how.
    """

    inner: Federation
    attackers: Attackers

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever a federation has
        if name == "inner":  # not set yet, while it is copied
            raise AttributeError(name)
        return getattr(self.inner, name)

    def describe(self) -> Sequence[events.Event]:
        """Say who attacks, too."""
        kind, clients = self.attackers.attack.kind, self.attackers.clients
        return [*self.inner.describe(), events.Attackers(attack=kind, clients=clients)]

    def train(self, request: TrainRequest) -> Sequence[TrainResult]:
        """Train everybody; replace what attackers send."""
        return [
            self._sent(result, request) if isinstance(result, Update) else result
            for result in self.inner.train(request)
        ]

    def _sent(self, update: Update, request: TrainRequest) -> Update:
        vector = self.attackers.model(update.client_id, update.vector, request.model)
        report = update.report
        if vector is not update.vector:
            # A client that lies about its model reports what fits the model it sends.
            measured = measure(request.needs, vector, request.model, self.inner.final_layer)
            report = report.with_values(measured)
        return replace(update, vector=vector, report=self.attackers.report(report))
