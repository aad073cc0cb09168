"""What a result depends on besides its configuration."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

import terrafl
from terrafl._version import __version__

__all__ = ["versions"]


@cache
def versions() -> dict[str, str]:
    """Return the versions, and the commit when terrafl runs from a checkout of its source."""
    found = {"terrafl": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "torch")}
    commit = _commit()
    return found | {"commit": commit} if commit else found


def _commit() -> str:
    source = Path(terrafl.__file__).parent
    if not (source.parents[1] / ".git").exists():
        return ""
    command = ["git", "-C", str(source), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
