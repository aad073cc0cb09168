"""A run's numbers where people already look, told from its journal: the engine knows nothing of it.

A further tracker is a class with the four methods of :class:`Tracker`, handed over as
``track=lambda folder: Mine(...)``.
"""

from terrafl.experiments.tracking.catalog import TRACKERS, tracker_named
from terrafl.experiments.tracking.protocol import MakeTracker, Tracker
from terrafl.experiments.tracking.tracking import Tracking

__all__ = ["TRACKERS", "MakeTracker", "Tracker", "Tracking", "tracker_named"]
