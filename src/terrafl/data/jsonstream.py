"""Read a JSON file that is too large for memory, one value at a time."""

from __future__ import annotations

import json
import re
from typing import NoReturn, TextIO

from terrafl.errors import DataError

__all__ = ["JsonStream"]

_PARTIAL = re.compile(r"|\.|[eE][+-]?")


class JsonStream:
    """The values of a JSON text, decoded as they are asked for.

    Parameters
    ----------
    stream
        The text.
    name
        What to call it in an error.
    chunk
        Characters read at a time.
    limit
        Most characters that one value may take.
    """

    def __init__(
        self, stream: TextIO, name: str, *, chunk: int = 1 << 22, limit: int = 1 << 28
    ) -> None:
        self._stream = stream
        self._name = name
        self._chunk = chunk
        self._limit = limit
        self._decoder = json.JSONDecoder(parse_constant=_refuse)
        self._text = ""
        self._at = 0
        self._ended = False

    def peek(self) -> str:
        """Return the next character that is not white space, which stays; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._read_on()

    def take(self, *expected: str) -> str:
        """Return the next character, which must be one of these."""
        found = self.peek()
        if found not in expected or not found:
            self._fail(f"have {' or '.join(expected)}", found or "the end")
        self._at += 1
        return found

    def value(self) -> object:
        """Return the next value, whole."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                self._fail("nest a few levels deep", "more")
            except ValueError as error:  # cut short, or wrong: the next characters will tell
                if self._ended:
                    self._fail("be a whole JSON text", str(error))
            else:
                # A number may go on: 12 into 123, 1. into 1.5, 1e- into 1e-5.
                if self._ended or not _PARTIAL.fullmatch(self._text, end):
                    self._at = end
                    return value
            self._read_on()

    def _read_on(self) -> None:
        kept = self._text[self._at :]
        if len(kept) > self._limit:
            self._fail(f"hold no value of more than {self._limit} characters", "one")
        try:
            # Twice as much each time: a long value is tried again a few times, not often.
            more = self._stream.read(max(self._chunk, len(kept)))
        except (OSError, UnicodeDecodeError) as error:
            self._fail("be readable UTF-8", str(error))
        self._text, self._at, self._ended = kept + more, 0, not more

    def _fail(self, must: str, got: str) -> NoReturn:
        raise DataError(f"{self._name} must {must}; got {got}.")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
