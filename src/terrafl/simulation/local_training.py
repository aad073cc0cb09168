"""How one client trains between two uploads: settings only."""

from dataclasses import dataclass
from typing import Literal

from terrafl.errors import require


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRateDecay:
    """Multiply the learning rate by ``factor``, the paper's if left out, every ``every`` rounds."""

    every: int
    factor: float = 0.5

    def __post_init__(self) -> None:
        require(self.every >= 1, "every", self.every, "an integer of at least 1")
        require(0 < self.factor <= 1, "factor", self.factor, "above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTraining:
    """One local training.

    Parameters
    ----------
    optimizer
        ``sgd`` or ``adam``, started from scratch every time: the server sends parameters only.
    learning_rate
        Step size; constant unless ``lr_decay`` says otherwise.
    momentum
        Of SGD.
    weight_decay
        L2 penalty, as torch defines it for the optimiser.
    epochs
        Passes over the client's data.
    batch_size
        Examples in a mini-batch; the last partial one is trained too.
    lr_decay
        The paper's "decreases every 10 iterations with a decay factor of 0.5", read literally,
        is ``{every = 10, factor = 0.5}``: after 200 rounds nothing would be left to learn with,
        and the released code of HiCS-FL never applies it. Hence the default, none.
    """

    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.0
    weight_decay: float = 0.0
    epochs: int = 2
    batch_size: int = 16
    lr_decay: LearningRateDecay | None = None

    def __post_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "greater than 0")
        require(0 <= self.momentum < 1, "momentum", self.momentum, "at least 0 and below 1")
        require(self.weight_decay >= 0, "weight_decay", self.weight_decay, "0 or more")
        require(self.epochs >= 1, "epochs", self.epochs, "an integer of at least 1")
        require(self.batch_size >= 1, "batch_size", self.batch_size, "an integer of at least 1")

    def step_sum(self, steps: int, rate: float) -> float:
        r"""Return the learning rate times the sum of the gradients' coefficients.

        With momentum $\rho$ the $i$-th of $\tau$ gradients enters the model with the coefficient
        $(1 - \rho^{\tau - i + 1}) / (1 - \rho)$. For Adam there is no such sum: 0.

        Examples
        --------
        >>> LocalTraining().step_sum(3, 0.5)
        1.5
        >>> LocalTraining(momentum=0.5).step_sum(2, 1.0)
        2.5
        """
        if self.optimizer != "sgd":
            return 0.0
        kept = self.momentum
        return rate * sum((1 - kept**left) / (1 - kept) for left in range(1, steps + 1))

    def rate(self, round: int) -> float:
        """Return the learning rate of a round, counted from 0.

        Examples
        --------
        >>> decay = LearningRateDecay(every=10, factor=0.5)
        >>> training = LocalTraining(learning_rate=0.1, lr_decay=decay)
        >>> training.rate(9), training.rate(10), training.rate(25)
        (0.1, 0.05, 0.025)
        """
        if self.lr_decay is None:
            return self.learning_rate
        return self.learning_rate * self.lr_decay.factor ** (round // self.lr_decay.every)
