"""Checks of replies: each is checked alone, and an invalid one is dropped with its reason.

A Flower strategy trusts what it aggregates: one missing metric stops the run, one NaN destroys
the model. Only replies that pass these checks reach it. An invalid reply is never repaired and
does not affect the others.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

import numpy as np
from flwr.app import ArrayRecord, Message
from numpy.typing import NDArray

from terrafl.flower import wire
from terrafl.flower.model_arrays import Arrays
from terrafl.selection.report import is_finite, shorten

Metrics = Mapping[str, int | float | list[int] | list[float]]

MOST_TIMES_MEDIAN = 100
"""A client may claim at most this many times the median number of examples."""


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """A training reply that is valid by itself: where an update came from.

    Parameters
    ----------
    message
        The reply.
    arrays
        The client's model, every array as numpy, in the order of the global model.
    metrics
        Its metrics.
    num_examples
        Of them, the number of examples.
    """

    message: Message
    arrays: Arrays
    metrics: Metrics
    num_examples: int


def checked_reply(message: Message, *, node_id: int, sent: Arrays, weight_key: str) -> Reply | str:
    """Return a training reply as it may be used, or what is wrong with it."""
    metrics = metrics_of(message)
    if isinstance(metrics, str):
        return metrics
    if message.metadata.src_node_id != node_id:
        return "the reply is from another node than the one that was asked"
    arrays = _arrays(list(message.content.array_records.values()), sent)
    if isinstance(arrays, str):
        return arrays
    size = metrics.get(weight_key)
    if size is None or isinstance(size, list) or size != int(size):
        return f"metric {weight_key} must be an integer, got {shorten(size)}"
    return Reply(message, arrays, metrics, int(size))


def metrics_of(message: Message) -> Metrics | str:
    """Return the only metrics of a reply, or what is wrong with them."""
    if message.has_error():
        return (
            f"no result: {shorten(message.error.reason or f'code {message.error.code}', most=200)}"
        )
    records = list(message.content.metric_records.values())
    if len(records) != 1:
        return f"a reply must hold exactly one MetricRecord, got {len(records)}"
    metrics = dict(records[0].items())
    for name, value in metrics.items():
        numbers = value if isinstance(value, list) else [value]
        if not all(is_finite(number) for number in numbers):
            return f"metric {shorten(name)} must be finite, got {shorten(value)}"
    return metrics


def odd_metrics(metrics: Mapping[str, Metrics]) -> dict[str, str]:
    """Return who, by key, has other metrics than most, and what differs.

    A strategy averages metrics only if all have the same names, and lists of the same length.
    What most have is right; of equally many, what the first has.
    """
    forms = {who: _form(metrics[who]) for who in sorted(metrics)}
    if not forms:
        return {}
    usual = Counter(forms.values()).most_common(1)[0][0]
    return {
        who: f"metrics must be {_names(usual)}, as most have; got {_names(form)}"
        for who, form in forms.items()
        if form != usual
    }


def odd_steps(metrics: Mapping[str, Metrics]) -> dict[str, str]:
    """Return who, by key, reports no local steps or far other ones than most, and what."""
    sums = {who: positive(m.get(wire.STEP_SUM)) for who, m in metrics.items()}
    typical = median_low([value for value in sums.values() if value] or [0.0])
    return {
        who: f"metric {wire.STEP_SUM} must be from {typical / MOST_TIMES_MEDIAN:g} to "
        f"{MOST_TIMES_MEDIAN * typical:g}, as the algorithm needs; got "
        f"{shorten(metrics[who].get(wire.STEP_SUM))}: give report() steps and learning_rate"
        for who, value in sums.items()
        if not typical / MOST_TIMES_MEDIAN <= value <= MOST_TIMES_MEDIAN * typical or not value
    }


def positive(value: object) -> float:
    """Return a positive number that a client reports; 0 where there is none."""
    return float(value) if is_finite(value) and value > 0 else 0.0


def too_large(sizes: Mapping[str, int], known: Iterable[int]) -> dict[str, str]:
    """Return who, by key, claims far more examples than others have, and how many.

    Parameters
    ----------
    sizes
        What is claimed now.
    known
        Sizes that were accepted before.
    """
    everybody = [*sizes.values(), *known]
    if not everybody:
        return {}
    most = MOST_TIMES_MEDIAN * max(1, median_low(everybody))
    return {
        who: f"num_examples must be at most {most} ({MOST_TIMES_MEDIAN} x median), got {size}"
        for who, size in sizes.items()
        if size > most
    }


def _arrays(records: Sequence[ArrayRecord], sent: Arrays) -> Arrays | str:
    if len(records) != 1:
        return f"a reply must hold exactly one ArrayRecord, got {len(records)}"
    record = records[0]
    missing, extra = sent.keys() - record.keys(), record.keys() - sent.keys()
    if missing or extra:
        wrong = shorten(", ".join(sorted(missing or extra)), most=100)
        how = "missing" if missing else "not asked for:"
        return f"arrays must be those that were sent; {how} {wrong}"
    arrays: dict[str, NDArray[np.generic]] = {}
    for key, original in sent.items():
        try:
            arrays[key] = record[key].numpy()
        except Exception as error:
            return f"array {shorten(key)} cannot be read: {shorten(error)}"
        fault = _array_fault(arrays[key], original)
        if fault:
            return f"array {shorten(key)} {fault}"
    return arrays


def _array_fault(array: NDArray[np.generic], original: NDArray[np.generic]) -> str:
    if array.shape != original.shape:
        return f"must have the shape {original.shape}, got {array.shape}"
    if array.dtype.kind not in "fiub":
        return f"must hold numbers, got {array.dtype}"
    return "" if np.isfinite(array).all() else "must be finite, and is not"


def _form(metrics: Metrics) -> tuple[tuple[str, int], ...]:
    pairs = ((name, len(v) if isinstance(v, list) else -1) for name, v in metrics.items())
    return tuple(sorted(pairs))


def _names(form: Sequence[tuple[str, int]]) -> str:
    shown = [name if length < 0 else f"{name}[{length}]" for name, length in form]
    return shorten(", ".join(shown) or "nothing", most=200)
