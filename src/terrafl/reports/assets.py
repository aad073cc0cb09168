"""The page's own scripts and styles, read from the package and sealed by their hashes."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Assets", "load_assets"]

SCRIPTS = (
    *("model.js", "svg.js", "theme.js", "bands.js", "tip.js", "curves.js", "tree.js", "cells.js"),
    *("heat.js", "fairness.js", "explorer.js", "live.js", "main.js"),
)


@dataclass(frozen=True, slots=True)
class Assets:
    """What a page carries.

    Parameters
    ----------
    library, script, style
        The charting library, our own code, and all styles.
    """

    library: str
    script: str
    style: str

    def policy(self, *, live: bool) -> str:
        """Return a Content-Security-Policy under which only this very code runs.

        Nothing can be loaded or sent, except that a live page hears the server it came from.
        """
        scripts = " ".join(_hash(text) for text in (self.library, self.script))
        parts = [
            *("default-src 'none'", f"script-src {scripts}", f"style-src {_hash(self.style)}"),
            *("base-uri 'none'", "form-action 'none'"),
        ]
        return "; ".join([*parts, "connect-src 'self'"] if live else parts)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def load_assets() -> Assets:
    """Read the files that a page is made of."""
    folder = files("terrafl.reports") / "page"

    def read(*names: str) -> str:
        return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)

    own = read(*SCRIPTS)
    return Assets(
        library=read("vendor/uPlot.iife.min.js"),
        script=f'(() => {{\n"use strict";\n{own}}})();',
        # The page's own rules come last: those for small screens must win.
        style=read("vendor/uPlot.min.css", "charts.css", "page.css"),
    )
