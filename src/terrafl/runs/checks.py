"""Checks of values that come from a file: type, finite, in range.

A check returns the value in its final type, or raises :class:`ValueError` with the rest of the
sentence "NAME must be ...".
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

MOST_ROUNDS = 10_000_000
"""Largest round and iteration: a larger one is damage, and would exhaust memory."""
LARGEST = 2**53
"""Largest whole number that JSON keeps in every language."""
LARGEST_FLOAT = 1e100
"""Largest size of a number: sums and squares of such numbers are still finite."""

Check = Callable[[object], Any]  # Any: the type that the check is for
Plain = dict[str, Any]  # Any: what JSON can hold
Parsed = TypeVar("Parsed")


def parse_object(line: bytes) -> Plain:
    """Return a JSON object; raise :class:`ValueError` where there is none."""
    try:
        plain = json.loads(line, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(plain, dict):
        raise ValueError("it is something else")  # noqa: TRY004  # one type for all damage
    return plain


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}")


def checked(check: Check, name: str, value: object) -> Any:  # noqa: ANN401  # as for Check
    """Return a value that passes a check.

    Examples
    --------
    >>> checked(integer, "clients", -1)
    Traceback (most recent call last):
    ...
    ValueError: clients must be an integer from 0 to 9007199254740992; got -1
    """
    try:
        return check(value)
    except ValueError as error:
        raise ValueError(f"{name} must be {error}") from error


def check_of(hint: object, name: str = "") -> Check:
    """Return the check for a type; rounds, seeds and accuracies have ranges by their names."""
    arguments = get_args(hint)
    if NoneType in arguments:
        inner = check_of(next(part for part in arguments if part is not NoneType), name)
        return lambda value: None if value is None else inner(value)
    if get_origin(hint) in (Sequence, tuple):
        item = check_of(arguments[0], name)
        return lambda value: tuple(map(item, _instance(value, list, "a list")))
    if get_origin(hint) is Mapping:
        key, item = map(check_of, arguments)
        return lambda value: {
            key(k): item(v) for k, v in _instance(value, dict, "an object").items()
        }
    if name in _MOST:
        return lambda value: integer(value, _MOST[name])
    if name.startswith("accuracy"):
        return lambda value: number(value, 1)
    return _CHECKS[hint] if hint in _CHECKS else _row_check(hint)


def _row_check(hint: Any) -> Check:  # noqa: ANN401  # a NamedTuple, which JSON writes as a list
    checks = [(name, check_of(part, name)) for name, part in get_type_hints(hint).items()]

    def check(value: object) -> Any:  # noqa: ANN401  # as for Check
        row = _instance(value, list, "a list")
        try:
            pairs = zip(checks, row, strict=True)
            return hint(*(checked(item, name, part) for (name, item), part in pairs))
        except ValueError as error:
            raise ValueError(f"valid: {error}") from error

    return check


@cache
def _keys(cls: type, given: frozenset[str]) -> list[tuple[str, str, Check, object]]:
    """Return name, key, check and default of each field; ``MISSING`` where it is required."""
    hints, keys = get_type_hints(cls), []
    for field in fields(cls):
        if field.name in given:
            continue
        hint, default = hints[field.name], field.default
        if default is MISSING and NoneType in get_args(hint):
            default = None  # a key that old journals do not have
        key = field.metadata.get("key", field.name)
        keys.append((field.name, key, check_of(hint, field.name), default))
    return keys


def parsed(cls: type[Parsed], plain: Plain, **given: Any) -> Parsed:  # noqa: ANN401  # by field
    """Return a record whose fields are the checked values of a JSON object.

    Unknown keys are ignored. Fields in ``given`` have been checked already.
    """
    keys = _keys(cls, frozenset(given))  # type: ignore[arg-type]  # a class can be hashed
    for name, key, check, default in keys:
        if key in plain:
            given[name] = checked(check, key, plain[key])
        elif default is MISSING:
            raise ValueError(f"{key} must be there; it is missing")
        else:
            given[name] = default
    return cls(**given)


def integer(value: object, most: int = LARGEST) -> int:
    """Check an integer that counts something."""
    if type(value) is int and 0 <= value <= most:  # a bool is no number
        return value
    raise ValueError(f"an integer from 0 to {most}; got {_shown(value)}")


def number(value: object, most: float = LARGEST_FLOAT) -> float:
    """Check a finite number."""
    # NaN fails both comparisons.
    if (
        isinstance(value, float | int)
        and not isinstance(value, bool)
        and -LARGEST_FLOAT <= value <= most
    ):
        return float(value)
    raise ValueError(f"a finite number of at most {most:g}; got {_shown(value)}")


def text(value: object) -> str:
    """Check a text."""
    # Half of a surrogate pair, which JSON allows, could not be written to any file again.
    if isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value)):
        return value
    raise ValueError(f"a text; got {_shown(value)}")


def _boolean(value: object) -> bool:
    return bool(_instance(value, bool, "true or false"))


def _instance(value: object, kind: type, must: str) -> Any:  # noqa: ANN401  # of that kind
    if isinstance(value, kind):
        return value
    raise ValueError(f"{must}; got {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, list | dict):  # may be long, or nested deeply
        return "a list" if isinstance(value, list) else "an object"
    return ascii(value)[:40]


_MOST = {**dict.fromkeys(("round", "rounds", "iteration"), MOST_ROUNDS), "seed": 2**64}
_CHECKS: Mapping[object, Check] = {int: integer, float: number, str: text, bool: _boolean}
_SURROGATE = re.compile("[\ud800-\udfff]")
