"""Which clients should train? Client selection for federated learning.

>>> import terrafl
>>> terrafl.Terraform(eta=2).eta
2
"""

from typing import TYPE_CHECKING

from terrafl._lazy import lazily
from terrafl._version import __version__

if TYPE_CHECKING:
    from terrafl.algorithms import FedAvg, FedProx
    from terrafl.defences.guard import Guard
    from terrafl.experiments.api import compare, run
    from terrafl.experiments.run import resume
    from terrafl.selection import HBase, HiCSFL, Oort, PowerOfChoice, Random, Terraform

__all__ = [
    "FedAvg",
    "FedProx",
    "Guard",
    "HBase",
    "HiCSFL",
    "Oort",
    "PowerOfChoice",
    "Random",
    "Terraform",
    "__version__",
    "compare",
    "resume",
    "run",
]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("FedAvg", "FedProx"), "terrafl.algorithms"),
        **dict.fromkeys(("compare", "run"), "terrafl.experiments.api"),
        "resume": "terrafl.experiments.run",
        "Guard": "terrafl.defences.guard",
        **dict.fromkeys(
            ("HBase", "HiCSFL", "Oort", "PowerOfChoice", "Random", "Terraform"),
            "terrafl.selection",
        ),
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
