"""Drawings inside the page, where they follow its colours, light or dark."""

from __future__ import annotations

import re
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"


def on_page_content(content: str, **_: object) -> str:
    """Put a drawing where ``<!-- picture NAME -->`` stands."""
    return re.sub(
        r"<!-- picture ([\w-]+\.svg) -->",
        lambda found: (IMAGES / found.group(1)).read_text(encoding="utf-8"),
        content,
    )
