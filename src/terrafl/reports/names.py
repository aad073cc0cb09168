"""Display names of methods and algorithms, and the order of methods."""

import re
from collections.abc import Mapping

from terrafl.reports.formats import on_one_line

SELECTORS: Mapping[str, str] = {
    "random": "Random",
    "hbase": "HBase",
    "poc": "PoC",
    "hics": "HiCS-FL",
    "oort": "Oort",
    "terraform": "Terraform",
}
"""The methods of the paper, in its order."""

_ALGORITHMS = {
    "fedavg": "FedAvg",
    "fedprox": "FedProx",
    "fedavgm": "FedAvgM",
    "fedadagrad": "FedAdagrad",
    "fedadam": "FedAdam",
    "fedyogi": "FedYogi",
    "fednova": "FedNova",
    "scaffold": "SCAFFOLD",
    "feddyn": "FedDyn",
    "feddc": "FedDC",
    "moon": "MOON",
}


def method_name(selector: str, variant: str = "") -> str:
    """Return the display name of a method.

    Examples
    --------
    >>> method_name("hics"), method_name("terraform", "eta=2"), method_name("mine:Own")
    ('HiCS-FL', 'Terraform (eta=2)', 'mine:Own')
    """
    name = SELECTORS.get(selector, selector)
    return on_one_line(f"{name} ({variant})" if variant else name)


def method_order(selector: str, variant: str = "") -> tuple[int, str, list[str | int]]:
    """Return the sort key of a method: the paper's order, others after, defaults first.

    Examples
    --------
    >>> sorted(["eta=10", "", "eta=2"], key=lambda variant: method_order("terraform", variant))
    ['', 'eta=2', 'eta=10']
    """
    known = list(SELECTORS)
    place = known.index(selector) if selector in known else len(known)
    # Text and numbers alternate, so that equal types are compared; int() refuses endless digits.
    parts = re.split(r"([0-9]{1,9})", variant)
    return (place, selector, [int(part) if i % 2 else part for i, part in enumerate(parts)])


def algorithm_name(algorithm: str, variant: str = "") -> str:
    """Return the display name of an algorithm."""
    name = _ALGORITHMS.get(algorithm, algorithm)
    return on_one_line(f"{name} ({variant})" if variant else name)
