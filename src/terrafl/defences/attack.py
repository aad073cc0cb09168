r"""The attacks: settings, formulas, who attacks and what they send.

With $\theta$ the received model, $\theta_0$ the run's first, $\theta^k$ what the attacker's
training gave, $|D^k|$ its number of examples, $s$ the strength and $C$ the number of classes,
an attacker sends

=================== ================================================ ===========================
kind                model                                            report
=================== ================================================ ===========================
none                $\theta^k$                                       as it is: the control group
norm-inflation      $\theta^k$                                       every norm times $s = 10$
size-inflation      $\theta^k$                                       $s |D^k|$, $s = 1000$
label-flip          $\theta^k$, trained on labels $C - 1 - y$        as it is
sign-flip           $\theta - s (\theta^k - \theta)$, $s = 1$        as it is
model-replacement   $\theta + s (\theta^k - \theta)$, $s = 15$,      as it is
                    trained on labels $C - 1 - y$
free-riding         $\theta$                                         as it is
nan-bomb            $\theta^k$ with its first number not a number    as it is
replay              $\theta^k$                                       stamped as an answer to the
                                                                     request before
stale               $\theta_0$                                       as it is, freshly stamped
=================== ================================================ ===========================

"As it is": of the model that is sent. In a run's first request there is nothing to replay.
"""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from terrafl.errors import require
from terrafl.records import Population, Report, Vector
from terrafl.selection.needs import checkable_values

Kind = Literal[
    "none",
    "norm-inflation",
    "size-inflation",
    "label-flip",
    "sign-flip",
    "model-replacement",
    "free-riding",
    "nan-bomb",
    "replay",
    "stale",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_STRENGTHS: dict[Kind, float] = {
    "norm-inflation": 10.0,
    "size-inflation": 1000.0,
    "sign-flip": 1.0,
    "model-replacement": 15.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A part of the clients attacks, all in the same way, from the first round to the last.

    With ``none`` they do not attack: such a run is the baseline for the attacked ones.

    Parameters
    ----------
    kind
        What they do.
    fraction
        Share of all clients that attacks; they are drawn from a separate random stream.
    strength
        By how much, $s$; left out, as the table above has it.
    """

    kind: Kind
    fraction: float = 0.1
    strength: float | None = None

    def __post_init__(self) -> None:
        require(self.kind in KINDS, "kind", self.kind, f"one of {', '.join(KINDS)}")
        require(0 < self.fraction < 1, "fraction", self.fraction, "above 0 and below 1")
        if self.strength is not None:
            must = "above 0, for an attack that has a strength"
            fits = self.kind in _STRENGTHS and 0 < self.strength < float("inf")
            require(fits, "strength", self.strength, must)

    @property
    def factor(self) -> float:
        """The strength in force."""
        return self.strength or _STRENGTHS.get(self.kind, 1.0)

    @property
    def flips_labels(self) -> bool:
        """Whether attackers train on flipped labels."""
        return self.kind in ("label-flip", "model-replacement")


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
