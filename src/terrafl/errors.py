"""The exceptions of terrafl: one tree, each leaf with the exit code the command line uses.

A message is for a person: what must hold, what was got, and what to do next.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ConfigurationError",
    "DataError",
    "RunFolderError",
    "TerraflError",
    "UserError",
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
