"""Where files that terrafl did not make are kept: data sets and pretrained weights."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["chosen", "home", "user_cache"]


def chosen(root: Path | None) -> Path | None:
    """Return the folder that the user chose: the given one or ``$TERRAFL_DATA``, if any."""
    data = os.environ.get("TERRAFL_DATA")
    return root or (Path(data) if data else None)


def home(root: Path | None) -> Path:
    """Return where fetched files go: the given folder, ``$TERRAFL_DATA``, or the user's cache."""
    return chosen(root) or user_cache()


def user_cache() -> Path:
    """Return the user's cache: ``$XDG_CACHE_HOME/terrafl`` or ``~/.cache/terrafl``."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # The XDG specification: a relative path is to be ignored.
    return (base if base.is_absolute() else Path("~/.cache").expanduser()) / "terrafl"
