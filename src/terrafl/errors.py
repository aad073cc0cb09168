"""The exceptions of terrafl, each with the exit code that the command line uses.

A message says what must hold, what was got, and what to do.
"""

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar


class TerraflError(Exception):
    """Base class of all exceptions that terrafl raises."""

    exit_code: ClassVar[int] = 1


class UserError(TerraflError, ValueError):
    """An error that the user can fix; the command line prints its message without a traceback."""

    exit_code: ClassVar[int] = 2


class ConfigurationError(UserError):
    """An invalid setting, argument or configuration file."""


class DataError(UserError):
    """A data file that is missing, damaged or in another format."""


class RunFolderError(UserError):
    """A run folder that cannot be used for the requested operation."""


class StorageError(TerraflError):
    """A file of a run cannot be written, for example on a full disk. Earlier files stay valid."""


def require(condition: bool, name: str, got: object, must: str) -> None:
    """Raise :class:`ConfigurationError` unless the condition holds.

    Examples
    --------
    >>> require(2 >= 1, "eta", 2, "an integer of at least 1")
    >>> require(0 >= 1, "eta", 0, "an integer of at least 1")
    Traceback (most recent call last):
    ...
    terrafl.errors.ConfigurationError: eta must be an integer of at least 1; got 0.
    """
    if not condition:
        raise ConfigurationError(f"{name} must be {must}; got {got!r}.")


def require_known(name: object, known: Iterable[str], what: str) -> None:
    """Raise unless a name is known; ``what`` is the subject of the message.

    Examples
    --------
    >>> require_known("digit", ("digits", "har"), "dataset must be one of")
    Traceback (most recent call last):
    ...
    terrafl.errors.ConfigurationError: dataset must be one of digits, har; got 'digit': \
did you mean 'digits'?
    """
    if name not in list(known):  # a list: not everything that a file can hold is hashable
        hint = suggest(str(name), known)
        raise ConfigurationError(f"{what} {', '.join(known)}; got {name!r}{hint}")


def suggest(word: str, known: Iterable[str]) -> str:
    """Return ``: did you mean 'x'?``, or a full stop if no known word is similar."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f": did you mean {near[0]!r}?" if near else "."


def describe(error: BaseException) -> str:
    """Return any exception as one line: its type, its message, and where it was raised.

    Examples
    --------
    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     describe(error).split(" (")[0]
    'ZeroDivisionError: division by zero'
    """
    words = " ".join(str(error).split())[:300]
    what = f"{type(error).__name__}: {words}" if words else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return what + where
