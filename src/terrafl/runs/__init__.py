"""The run folder: configuration, journal, checkpoints, summary, lock."""

from terrafl.runs.folder import RunFolder
from terrafl.runs.journal import Journal, read_events
from terrafl.runs.summary import Labels, Point, Summary

__all__ = ["Journal", "Labels", "Point", "RunFolder", "Summary", "read_events"]
