"""How well the final model serves each client."""

import numpy as np
from numpy.typing import NDArray

from terrafl.data.partition.ragged import Ragged
from terrafl.tasks import Task, score_of

MOST_LISTED = 10_000
"""Clients are listed one by one in the journal up to this many: its cost follows the cohort."""


def by_client(
    task: Task, statistics: NDArray[np.float64], test: Ragged
) -> dict[str, list[int] | list[float | None]]:
    """Count each client's test examples, and those that the model gets right.

    Parameters
    ----------
    task
        What is learned.
    statistics
        The task's statistics of every test example, (n, S).
    test
        The test examples of every client.

    Returns
    -------
    dict
        ``tested``, and ``correct`` or, for a task that does not count correct answers, ``scores``
        (``None`` where it is undefined): one number per client in the order of client ids; empty
        beyond :data:`MOST_LISTED` clients.

    Examples
    --------
    >>> from terrafl.tasks import Classification
    >>> right = np.array([[1.0], [0.0], [1.0]])
    >>> by_client(Classification(), right, Ragged.of([[0, 1], [], [2]]))
    {'tested': [2, 0, 1], 'correct': [1, 0, 1]}
    """
    if len(test) > MOST_LISTED:
        return {"tested": [], "correct": []}
    tested = test.sizes().tolist()
    if "correct" not in task.statistics_names:
        scores = [score_of(task, statistics[test[client]]) for client in range(len(test))]
        return {"tested": tested, "correct": [], "scores": scores}
    right = statistics[test.indices, task.statistics_names.index("correct")]
    running = np.concatenate([[0], np.cumsum(right)]).astype(np.int64)
    return {
        "tested": tested,
        "correct": (running[test.offsets[1:]] - running[test.offsets[:-1]]).tolist(),
    }
