"""From a line of JSON to a typed event, with every value checked."""

from collections.abc import Mapping
from operator import gt

from terrafl.runs import events as e
from terrafl.runs.checks import Plain, check_of, checked, integer, number, parsed, text

_TYPES: Mapping[str, type[e.Event]] = {
    cls.kind: cls
    for cls in (
        *(e.Federation, e.Attackers, e.Drift, e.Cohort, e.Updates, e.Refused, e.Guarded),
        *(e.Averaged, e.NotAggregated, e.Fairness, e.SelectionTime, e.IterationTime),
    )
}
_SAME_LENGTH: Mapping[type, tuple[str, ...]] = {
    e.Federation: ("ids", "sizes", "distances", "labels"),
    e.Cohort: ("clients", "draws", "weights"),
    e.Updates: ("clients", "update_norm"),
    e.Averaged: ("clients", "weights"),
    e.Fairness: ("tested", "correct", "score"),
}
_OPTIONAL = frozenset({"sizes", "distances", "labels", "draws", "weights", "score"})
_SPLIT_KEYS = frozenset({"iteration", "clients", "k_q1", "k_q3", "tau"})
_NOT_MEASURES = ("id", "num_examples")
_ROUND = check_of(int, "round")


def parse_event(plain: Plain) -> e.Event | None:
    """Return the event of a JSON object; raise :class:`ValueError` for an invalid value.

    Unknown keys are ignored. An event of an unknown kind is a selector's decision. Without a
    round it is ``None``: a newer version wrote it.
    """
    kind = checked(text, "event", plain.get("event"))
    if kind == e.Evaluation.kind:
        return _evaluation(plain)
    if kind in _TYPES:
        event = parsed(_TYPES[kind], plain)
        _require_agreement(event)
        return event
    if "round" not in plain:
        return None
    round_number = checked(_ROUND, "round", plain["round"])
    if kind == e.Split.kind and plain.keys() >= _SPLIT_KEYS:
        return _split(plain)
    return e.decision(round_number, plain)


def _evaluation(plain: Plain) -> e.Event:
    if "seconds" in plain and "accuracy" not in plain:
        return parsed(e.EvaluationTime, plain)
    plain.setdefault("accuracy_participating", plain.get("accuracy"))  # not in old journals
    return parsed(e.Evaluation, plain, costs=parsed(e.Costs, plain))


def _split(plain: Plain) -> e.Split:
    rows = plain["clients"]
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        raise ValueError("clients must be a list of objects; it is something else")
    measure = next((key for key in rows[0] if key not in _NOT_MEASURES), "")
    clients = tuple(
        e.SplitClient(
            checked(text, "id", row.get("id")),
            checked(number, measure, row.get(measure)),
            checked(integer, "num_examples", row.get("num_examples")),
        )
        for row in rows
    )
    tau = checked(integer, "tau", plain["tau"])
    plain.setdefault("hard", [client.id for client in clients[tau:]])
    split = parsed(e.Split, plain, measure=measure, clients=clients)
    if max(split.k_q1, split.k_q3, split.tau) > len(clients):
        raise ValueError(f"k_q1, k_q3 and tau must be at most {len(clients)}, the clients")
    return split


def _require_agreement(event: e.Event) -> None:
    """Refuse an event whose lists have different lengths; an empty optional list is unknown."""
    lengths = {}
    for name in _SAME_LENGTH.get(type(event), ()):
        values = getattr(event, name)
        is_replaced = name == "correct" and isinstance(event, e.Fairness) and bool(event.score)
        if values or not (name in _OPTIONAL or is_replaced):
            lengths[name] = len(values or ())
    if isinstance(event, e.Federation) and event.ids:
        lengths["clients"] = event.clients
        lengths["different ids"] = len(set(event.ids))
    if isinstance(event, e.Fairness) and any(map(gt, event.correct or (), event.tested or ())):
        raise ValueError("correct must be at most tested; it is larger")
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"its lists must have one length; they have {sizes}")
