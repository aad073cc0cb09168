"""Convert equations to MathML, which browsers display without scripts or downloads."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Turn the equations of a page into MathML."""
    content = _INLINE.sub(lambda found: _math(found.group(1), "inline"), content)
    return _DISPLAY.sub(lambda found: f"<p>{_math(found.group(1), 'block')}</p>", content)


def _math(latex: str, display: str) -> str:
    return convert(html.unescape(latex).strip(), display=display)
