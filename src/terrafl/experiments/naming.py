"""Short names for settings that differ from the defaults, for folders and tables."""

from __future__ import annotations

import hashlib
from typing import Any

from terrafl.settings import to_plain

__all__ = ["variant_of"]


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
