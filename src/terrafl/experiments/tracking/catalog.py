"""Trackers by name, for the command line."""

from __future__ import annotations

from collections.abc import Callable

from terrafl.errors import ConfigurationError
from terrafl.experiments.tracking.protocol import MakeTracker
from terrafl.settings import suggest

__all__ = ["TRACKERS", "tracker_named"]


def _tensorboard() -> MakeTracker:
    try:
        from terrafl.experiments.tracking.tensorboard import TensorBoard
    except ImportError as error:
        raise ConfigurationError(
            "tracking with tensorboard needs the package tensorboard, which is not installed: "
            "pip install 'terrafl[tensorboard]'."
        ) from error
    return TensorBoard


TRACKERS: dict[str, Callable[[], MakeTracker]] = {"tensorboard": _tensorboard}


def tracker_named(name: str) -> MakeTracker:
    """Return the function that makes trackers of this name, with its library loaded."""
    if name not in TRACKERS:
        known = ", ".join(TRACKERS)
        raise ConfigurationError(
            f"track must be one of {known}; got {name!r}{suggest(name, TRACKERS)}"
        )
    return TRACKERS[name]()
