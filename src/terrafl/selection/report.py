"""The checks of what a client reports after training.

Reports come from other machines: every report passes :func:`judge` before it is used. An invalid
report is refused by name with its reason. It never raises, is never repaired, and does not affect
the others.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np

from terrafl.records import Refusal, Report
from terrafl.selection.needs import Measurement, Need, known


def judge(
    reports: Iterable[Report],
    *,
    cohort: Collection[str],
    round: int,
    iteration: int,
    needs: Collection[Need] = frozenset(),
    shapes: Mapping[Need, tuple[int, ...]] | None = None,
) -> tuple[tuple[Report, ...], tuple[Refusal, ...]]:
    """Separate the reports that may be believed from those that may not.

    Parameters
    ----------
    reports
        What arrived, in any order.
    cohort
        The clients that were asked.
    round, iteration
        The request that is being answered.
    needs
        The fields that must be present.
    shapes
        The shapes that arrays must have, where they are known.

    Returns
    -------
    accepted, refused
        Accepted reports in the order of client ids, refusals likewise: the result does not
        depend on the order of arrival.

    Notes
    -----
    A report that arrives twice, the same in every field, counts once and its copy is refused.
    A client whose reports differ contradicts itself: all of them are refused.
    """
    asked = frozenset(cohort)
    sound: dict[str, list[Report]] = {}
    refused: list[Refusal] = []
    for report in reports:
        reason = _fault(report, asked, round, iteration, needs) or _misshapen(report, shapes or {})
        if reason:
            refused.append(Refusal(str(report.client_id), reason))
        else:
            sound.setdefault(report.client_id, []).append(report)
    accepted: list[Report] = []
    for client_id, (first, *others) in sound.items():
        if all(_same(first, other) for other in others):
            accepted.append(first)
            refused += [Refusal(client_id, "repeated: this client has reported already")] * len(
                others
            )
        else:
            reason = f"repeated: {len(others) + 1} reports of this client contradict each other"
            refused += [Refusal(client_id, reason)] * (len(others) + 1)
    accepted.sort(key=lambda report: report.client_id)
    refused.sort(key=lambda refusal: (refusal.client_id, refusal.reason))
    return tuple(accepted), tuple(refused)


# Sums over a cohort of millions stay exact in 64 bits.
_MOST_EXAMPLES = 2**40


def _fault(
    report: Report, asked: frozenset[str], round: int, iteration: int, needs: Collection[Need]
) -> str:
    """Return what is wrong with a report, or nothing."""
    if not isinstance(report.client_id, str) or report.client_id not in asked:
        return "unknown client: it was not asked to train"
    for name, expected in (("round", round), ("iteration", iteration)):
        if not _is_integer(getattr(report, name), expected, expected):
            return f"wrong {name}: must be {expected}, got {_shown(getattr(report, name))}"
    if not _is_integer(report.num_examples, 1, _MOST_EXAMPLES):
        return (
            "num_examples must be an integer of at least 1 and at most 2^40, "
            f"got {_shown(report.num_examples)}"
        )
    faults = (_value_fault(m, report.value(m.name), m.name in needs) for m in known().values())
    return next(filter(None, faults), "")


def _misshapen(report: Report, shapes: Mapping[Need, tuple[int, ...]]) -> str:
    for name, shape in shapes.items():
        value = report.value(name)
        if value is not None and np.shape(value) != shape:
            return f"{name} must have shape {shape}, got {_shown(np.shape(value))}"
    return ""


def _value_fault(measurement: Measurement, value: object, needed: bool) -> str:
    name = measurement.name
    if value is None:
        return f"{name} is missing" if needed else ""
    if measurement.shape is not None:
        return "" if _is_finite_array(value) else f"{name} must be an array of finite numbers"
    if isinstance(value, bool) or not isinstance(value, Real):
        return f"{name} must be a number, got {_shown(value)}"
    if not is_finite(value) or (value < 0 and not measurement.is_signed):
        bound = "" if measurement.is_signed else " and not negative"
        return f"{name} must be finite{bound}, got {_shown(value)}"
    return ""


def _is_integer(value: object, least: int, most: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return least <= int(value) <= most


def is_finite(value: object) -> TypeGuard[float]:
    """Return whether a value is a number that a float can hold."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:  # an integer beyond the largest float
        return False


def _shown(value: object) -> str:
    return shorten(value, str if isinstance(value, Real) else repr)


def shorten(value: object, show: Callable[[object], str] = str, *, most: int = 60) -> str:
    """Return a short text on one line for anything that a client may send."""
    try:
        text = show(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "an integer of thousands of digits"
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= most else f"{text[:most]}..."


def _is_finite_array(value: object) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.size > 0
        and value.dtype.kind == "f"
        and value.dtype.itemsize <= 8  # an extended float may be infinite as a double
        and bool(np.isfinite(value).all())
    )


def _same(one: Report, other: Report) -> bool:
    """Return whether two reports say the same; both answer one request to one client."""
    names = known().keys() | one.extra.keys() | other.extra.keys()
    pairs = [(np.asarray(one.value(n)), np.asarray(other.value(n))) for n in names]
    return one.num_examples == other.num_examples and all(np.array_equal(a, b) for a, b in pairs)
