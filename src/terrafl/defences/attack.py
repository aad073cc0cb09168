r"""The attacks: settings and formulas.

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

from dataclasses import dataclass
from typing import Literal, get_args

from terrafl.errors import require

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
