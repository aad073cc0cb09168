"""Insert drawings into the page, so that they follow its light or dark colours."""

from __future__ import annotations

import re
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"


def on_page_content(content: str, **_: object) -> str:
    """Replace ``<!-- picture NAME -->`` by the drawing."""
    return re.sub(
        r"<!-- picture ([\w-]+\.svg) -->",
        lambda found: (IMAGES / found.group(1)).read_text(encoding="utf-8"),
        content,
    )
