"""The run folder: configuration, events, checkpoints, summary, lock."""

from terrafl.runs.event_reader import News as News
from terrafl.runs.event_reader import Tail as Tail
from terrafl.runs.event_reader import read_events as read_events
from terrafl.runs.event_reader import read_lines as read_lines
from terrafl.runs.folder import RunFolder as RunFolder
from terrafl.runs.journal import Journal as Journal
from terrafl.runs.summary import Labels as Labels
from terrafl.runs.summary import Point as Point
from terrafl.runs.summary import Summary as Summary
