"""Convert the directives and roles of docstrings to Markdown for the site."""

from __future__ import annotations

import re
import textwrap

import griffe

_MATH = re.compile(r"^( *)\.\. math::[ ]*(.*(?:\n(?:\1[ ]+.*|[ ]*(?=\n\1[ ]+)))*)", re.MULTILINE)


def _display(found: re.Match[str]) -> str:
    first, _, rest = found.group(2).partition("\n")
    equation = "\n".join(filter(None, [first.strip(), textwrap.dedent(rest).strip()]))
    lines = ["$$", *equation.splitlines(), "$$"]
    return "\n" + "\n".join(found.group(1) + line for line in lines) + "\n"


class Markdown(griffe.Extension):
    """Rewrite every docstring when it is read."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Turn ``.. math::`` into a display equation, and roles and double backticks into code."""
        if obj.docstring:
            text = _MATH.sub(_display, obj.docstring.value)
            text = re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text)
            obj.docstring.value = re.sub(r"``([^`]+)``", r"`\1`", text)
