"""Convert settings objects to plain data and back.

Selectors, algorithms, models and partitioners are dataclasses: their constructor arguments are
their settings. This module turns such an object into plain data for a TOML file, a command line
or another process, such as ``{"name": "terraform", "eta": 4}``, and builds it again. An error
names the wrong key and suggests the right one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from terrafl.errors import ConfigurationError, require_known, suggest

if TYPE_CHECKING:
    from pydantic import ValidationError

Built = TypeVar("Built")
Plain = dict[str, Any]  # Any: what TOML and JSON can hold


def to_plain(settings: object) -> Plain:
    """Return the constructor arguments of a dataclass as TOML values; omit ``None``."""
    fields = [f for f in dataclasses.fields(settings) if f.init]  # type: ignore[arg-type]  # any dataclass
    pairs = ((f.name, _value(getattr(settings, f.name))) for f in fields)
    return {name: value for name, value in pairs if value is not None}


def to_plain_named(settings: object) -> Plain:
    """Return an object's settings and its name in the catalogue.

    The name of a class outside terrafl is its import path, ``module:Class``.
    """
    cls = type(settings)
    name = getattr(cls, "name", None)
    known = isinstance(name, str) and cls.__module__.startswith("terrafl.")
    return {"name": name if known else f"{cls.__module__}:{cls.__qualname__}"} | to_plain(settings)


def _value(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_plain(value)
    if isinstance(value, Mapping):
        return {str(key): _value(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, Fraction):
        return str(value)
    return value


def named(catalogue: Mapping[str, type[Built]], plain: Mapping[str, object], where: str) -> Built:
    """Build an object of the catalogue from its name and settings.

    Examples
    --------
    >>> from terrafl.algorithms import FedAvg, FedProx
    >>> algorithms = {"fedavg": FedAvg, "fedprox": FedProx}
    >>> named(algorithms, {"name": "fedprox", "mu": 0.5}, "algorithm")
    FedProx(mu=0.5)
    >>> named(algorithms, {"name": "fedprocks"}, "algorithm")
    Traceback (most recent call last):
    ...
    terrafl.errors.ConfigurationError: algorithm.name must be one of fedavg, fedprox; \
got 'fedprocks': did you mean 'fedprox'?
    """
    rest = dict(plain)
    name = rest.pop("name", None)
    if isinstance(name, str) and ":" in name:
        imported: type[Built] = _imported(name, where)
        return build(imported, rest, where)
    require_known(name, catalogue, f"{where}.name must be one of")
    return build(catalogue[str(name)], rest, where)


def _imported(path: str, where: str) -> type[Any]:  # Any: a class of the user
    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # the user's module may raise anything
        raise ConfigurationError(
            f"{where}.name must be a known name or an importable module:Class; "
            f"got {path!r}, and {error}."
        ) from error
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise ConfigurationError(f"{where}.name must name a dataclass; {path!r} is not one.")
    return found


def build(cls: type[Built], plain: Mapping[str, object], where: str) -> Built:
    """Build a dataclass from plain values. Each value is checked against its annotation."""
    from pydantic import TypeAdapter, ValidationError

    known = [f.name for f in dataclasses.fields(cls) if f.init]  # type: ignore[arg-type]  # any dataclass
    for key in plain:
        if key not in known:
            raise ConfigurationError(
                f"{where} has no key {key!r}{suggest(key, known)} Known keys: {', '.join(known)}."
            )
    adapter = TypeAdapter(cls) if known else None
    try:
        return adapter.validate_python(dict(plain)) if adapter else cls()
    except ValidationError as error:
        raise ConfigurationError(_sentence(error, where)) from error


def _sentence(error: ValidationError, where: str) -> str:
    first = error.errors()[0]
    place = ".".join([where, *(str(part) for part in first["loc"] if not _is_type_name(part))])
    reason = first.get("ctx", {}).get("error")
    if isinstance(reason, ConfigurationError):  # raised by the object itself
        return f"{place}.{reason}"
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}; got {first['input']!r}."


def _is_type_name(part: int | str) -> bool:
    # For a union, pydantic adds the name of each member that it tried.
    is_class = isinstance(part, str) and part[:1].isupper()
    return isinstance(part, str) and (is_class or not part.isidentifier() or part in _TYPE_NAMES)


_TYPE_NAMES = frozenset({"int", "float", "str", "bool", "fraction", "literal", "tuple"})


def variant_of(part: object, defaults: dict[str, Any]) -> str:  # Any: what TOML can hold
    """Return the settings of a part that differ from its defaults."""
    try:
        usual = to_plain(type(part)()) | defaults
    except TypeError:  # a user's class with a setting that has no default
        usual = {}
    changed = {key: value for key, value in to_plain(part).items() if usual.get(key) != value}
    return ",".join(f"{key}={_short(value)}" for key, value in changed.items())


def _short(value: object) -> str:
    text = "-".join(map(str, value)) if isinstance(value, list) else str(value)
    if len(text) <= 40:
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:8]  # must fit the name of a folder
