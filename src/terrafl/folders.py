"""The folders of data sets and pretrained weights."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["chosen", "home", "user_cache"]


def chosen(root: Path | None) -> Path | None:
    """Return the given folder, or ``$TERRAFL_DATA``, or ``None``."""
    data = os.environ.get("TERRAFL_DATA")
    return root or (Path(data) if data else None)


def home(root: Path | None) -> Path:
    """Return the folder for downloads: the given one, ``$TERRAFL_DATA``, or the user's cache."""
    return chosen(root) or user_cache()


def user_cache() -> Path:
    """Return the cache folder of the user: ``$XDG_CACHE_HOME/terrafl`` or ``~/.cache/terrafl``."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # The XDG specification says that a relative path must be ignored.
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "terrafl"
