"""What a result depends on besides its configuration and its data.

A resumed run ends with the bytes of an uninterrupted one only under the same ``RESULTS_VERSION``,
the same numpy, scipy and torch, the same processor instructions, and the same user code. The
versions of terrafl and Python and the commit are recorded for information: a commit that changes
no result keeps ``RESULTS_VERSION``.
"""

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from terrafl._version import __version__
from terrafl.results_version import RESULTS_VERSION

DECISIVE = ("results_version", "numpy", "scipy", "torch", "instructions")
"""The entries of :func:`versions` that a result depends on."""


@cache
def versions() -> dict[str, str]:
    """Return the versions, and the commit when terrafl runs from a checkout of its source."""
    known = {"terrafl": __version__, "python": platform.python_version()}
    known |= {name: version(name) for name in ("numpy", "scipy", "torch")}
    known |= {"results_version": str(RESULTS_VERSION), "instructions": _instructions()}
    commit = _commit()
    return known | {"commit": commit} if commit else known


def user_code(parts: Iterable[object], modules: Iterable[str] = ()) -> dict[str, str]:
    """Return a digest of every module outside terrafl that defines one of these objects' classes.

    Parameters
    ----------
    parts
        The selector, the algorithm and the other parts of a run.
    modules
        Further modules that a result depends on.
    """
    return {
        f"code.{name}": hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        for name, file in source_files(parts, modules).items()
    }


def source_files(parts: Iterable[object], modules: Iterable[str] = ()) -> dict[str, Path]:
    """Return the files of these modules, and of those that define the parts' classes.

    Modules of terrafl are left out.
    """
    names = sorted({type(part).__module__ for part in parts} - {"builtins"} | set(modules))
    files = {name: Path(getattr(sys.modules.get(name), "__file__", None) or "") for name in names}
    return {
        name: file
        for name, file in files.items()
        if name.partition(".")[0] != "terrafl" and file.is_file()
    }


def _instructions() -> str:
    """Return the processor's architecture and the vector instructions that numpy detects."""
    config = np.show_config(mode="dicts")  # torch knows them too, but takes seconds to load
    extensions = config.get("SIMD Extensions", {}) if config else {}
    return " ".join([platform.machine(), *extensions.get("found", [])])


def _commit() -> str:
    source = Path(__file__).parent
    if not (source.parents[1] / ".git").exists():
        return ""
    command = ["git", "-C", str(source), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
