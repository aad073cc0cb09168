"""What a result depends on besides its configuration.

Of these, the versions of terrafl, numpy, scipy and torch, the source of the rooms that decide a
result, and the processor's instructions must stay the same for a resumed run to end with the
bytes of an undisturbed one. Python's version and the commit are recorded for people: neither
reaches a number, and a commit may change nothing but documentation.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

import terrafl
from terrafl._version import __version__

__all__ = ["DECISIVE", "versions"]

DECISIVE = ("terrafl", "source", "numpy", "scipy", "torch", "instructions")
"""The entries of :func:`versions` that a result depends on."""

_BYSTANDERS = frozenset({"bench", "cli", "flower", "reports", "runs"})
"""Rooms that show or store results, and decide none."""


@cache
def versions() -> dict[str, str]:
    """Return the versions, and the commit when terrafl runs from a checkout of its source."""
    found = {"terrafl": __version__, "python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "scipy", "torch")}
    found |= {"source": _source(), "instructions": _instructions()}
    commit = _commit()
    return found | {"commit": commit} if commit else found


def _source() -> str:
    """Return a digest of the code that decides a result, edited or not."""
    root, digest = Path(terrafl.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in _BYSTANDERS:
            digest.update(f"{name.as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _instructions() -> str:
    """Return the processor's kind and the vector instructions that numpy finds in it."""
    found = np.show_config(mode="dicts")  # torch would say the same, after seconds of loading
    extensions = found.get("SIMD Extensions", {}) if found else {}
    return " ".join([platform.machine(), *extensions.get("found", [])])


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
