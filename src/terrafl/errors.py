"""The exceptions of terrafl: one tree, each leaf with the exit code the command line uses.

A message is for a person: what must hold, what was got, and what to do next.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import ClassVar

__all__ = [
    "ConfigurationError",
    "DataError",
    "RunFolderError",
    "StorageError",
    "TerraflError",
    "UserError",
    "describe",
    "require",
]


class TerraflError(Exception):
    """Anything terrafl raises on purpose."""

    exit_code: ClassVar[int] = 1


class UserError(TerraflError, ValueError):
    """A mistake that the caller can mend; the command line shows it as one sentence."""

    exit_code: ClassVar[int] = 2


class ConfigurationError(UserError):
    """A setting, argument or configuration file that cannot be meant."""


class DataError(UserError):
    """A data file that is missing, damaged or not what it claims to be."""


class RunFolderError(UserError):
    """A run folder that cannot be used as asked."""


class StorageError(TerraflError):
    """A file of a run that cannot be written: a full disk, say. What was written before stands."""


def require(condition: bool, name: str, got: object, must: str) -> None:
    """Raise unless the condition holds.

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


def describe(error: BaseException) -> str:
    """Return somebody else's error in one line: its type, its words, and where it was raised.

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
