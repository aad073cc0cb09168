"""The scripts and styles of the page, with their hashes for the security policy."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files

SCRIPTS = (
    *("model.js", "svg.js", "theme.js", "bands.js", "tip.js", "curves.js", "tree.js", "cells.js"),
    *("heat.js", "fairness.js", "explorer.js", "live.js", "main.js"),
)


@dataclass(frozen=True, slots=True)
class Assets:
    """The scripts and styles of a page.

    Parameters
    ----------
    library, script, style
        The charting library, the code of the page, and all styles.
    """

    library: str
    script: str
    style: str

    def policy(self, *, live: bool) -> str:
        """Return a Content-Security-Policy that allows this code only.

        Nothing can be loaded or sent, except that a live page receives news from its server.
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
    """Read the files of a page."""
    folder = files("terrafl.reports") / "page"

    def read(*names: str) -> str:
        return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)

    script = read(*SCRIPTS)
    return Assets(
        library=read("vendor/uPlot.iife.min.js"),
        script=f'(() => {{\n"use strict";\n{script}}})();',
        # The rules of the page come last: those for small screens must win.
        style=read("vendor/uPlot.min.css", "charts.css", "page.css"),
    )
