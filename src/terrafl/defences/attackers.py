"""Who attacks, and what they send."""

from dataclasses import dataclass, replace

import numpy as np

from terrafl.defences.attack import Attack
from terrafl.records import Population, Report, Vector
from terrafl.selection.needs import checkable_values


def draw_attackers(
    attack: Attack, population: Population, generator: np.random.Generator
) -> tuple[str, ...]:
    """Draw who attacks: the fraction of the population, rounded, at least one client."""
    count = max(1, round(attack.fraction * len(population)))
    chosen = generator.choice(len(population), size=count, replace=False)
    return population.names(np.sort(chosen))


@dataclass(frozen=True, slots=True, eq=False)
class Attackers:
    r"""The attackers of a run; everybody else sends what they should.

    What is sent is a function of what was trained and received: nothing is remembered, so a
    resumed run is attacked in the same way.

    Parameters
    ----------
    attack
        What they do.
    clients
        Who they are.
    initial
        The run's first model, $\theta_0$.
    """

    attack: Attack
    clients: tuple[str, ...]
    initial: Vector

    def model(self, client_id: str, trained: Vector, received: Vector) -> Vector:
        """Return the model that a client sends; a new one where it is not what it trained."""
        if client_id not in self.clients:
            return trained
        factor = np.float32(self.attack.factor)
        match self.attack.kind:
            case "sign-flip":
                sent = received - factor * (trained - received)
            case "model-replacement":
                sent = received + factor * (trained - received)
            case "free-riding":
                sent = received
            case "stale":
                sent = self.initial
            case "nan-bomb":
                sent = trained.copy()
                sent[0] = np.nan
            case _:
                sent = trained
        return sent

    def report(self, report: Report) -> Report:
        """Return the report that a client sends."""
        if report.client_id not in self.clients:
            return report
        factor = self.attack.factor
        match self.attack.kind:
            case "norm-inflation":
                numbers = checkable_values(report)
                return report.with_values({n: v * factor for n, v in numbers.items()})
            case "size-inflation":
                return replace(report, num_examples=int(report.num_examples * factor))
            case "replay":
                return _stamped_before(report)
            case _:
                return report


def _stamped_before(report: Report) -> Report:
    if report.iteration:
        return replace(report, iteration=report.iteration - 1)
    return replace(report, round=max(0, report.round - 1))
