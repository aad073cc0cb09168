"""The run folder: configuration, events, checkpoints, summary, lock."""

from terrafl.runs.event_reader import read_events, read_lines
from terrafl.runs.folder import RunFolder
from terrafl.runs.journal import Journal
from terrafl.runs.summary import Labels, Point, Summary
from terrafl.runs.tail import News, Tail

__all__ = [
    "Journal",
    "Labels",
    "News",
    "Point",
    "RunFolder",
    "Summary",
    "Tail",
    "read_events",
    "read_lines",
]
