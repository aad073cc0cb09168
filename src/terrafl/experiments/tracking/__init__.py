"""Show runs in TensorBoard or another tracker; the numbers come from the journal.

Another tracker is a class with the four methods of :class:`Tracker`, passed as
``track=lambda folder: Mine(...)``.
"""

from terrafl.experiments.tracking.protocol import MakeTracker, Tracker
from terrafl.experiments.tracking.tracking import TRACKERS, Tracking

__all__ = ["TRACKERS", "MakeTracker", "Tracker", "Tracking"]
