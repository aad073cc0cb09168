"""What a network learns: its loss, and the score that results report."""

from terrafl.tasks.classification import Classification
from terrafl.tasks.protocol import LOWEST_SCORE, Task, score_of
from terrafl.tasks.regression import Regression

__all__ = ["LOWEST_SCORE", "TASKS", "Classification", "Regression", "Task", "score_of"]

TASKS: dict[str, type[Task]] = {cls.name: cls for cls in (Classification, Regression)}
"""Tasks by name, for configuration files and the command line."""
