"""The interface of an executor: what trains, questions and evaluates simulated clients.

Below it is what all executors share: which clients are trained together, and what happens when
training a client fails.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from terrafl.errors import TerraflError, UserError, describe
from terrafl.models import Layout
from terrafl.records import Refusal
from terrafl.simulation.job import OnClientFailure, Trained, TrainTask, Work

LossTask = tuple[int, Sequence[int] | None]
"""A client's position, and which of its examples to ask about (``None``: all)."""

EVALUATION_BATCH = 500  # what a convolution makes of more images leaves the cache


class Executor(Protocol):
    """Train, question and evaluate clients; equal requests give equal bytes on every executor."""

    @property
    def layout(self) -> Layout:
        """How a model lies in memory."""
        ...

    @property
    def initial_model(self) -> NDArray[np.float32]:
        """The model that the run's seed gives."""
        ...

    def train(self, work: Work) -> list[Trained | Refusal]:
        """Train clients from the received model; return results in the order of the tasks."""
        ...

    def losses(self, model: NDArray[np.float32], tasks: Sequence[LossTask]) -> list[float]:
        """Return the mean training loss of a model for each client."""
        ...

    def evaluate(
        self, model: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return the task's statistics, (n, S), and the loss for every test example."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def evaluation_pieces(num_examples: int, layout: Layout, num_workers: int) -> list[tuple[int, int]]:
    """Cut the test set for workers, between batches only: their shape may reach the last bit.

    Convolutions are handed out batch by batch, so that no worker waits long for the last; a
    perceptron is so quick that every message shows, and each worker gets one piece.
    """
    convolves = any(len(entry.shape) > 2 for entry in layout.parameters)
    batches = 1 if convolves else -(-num_examples // (EVALUATION_BATCH * num_workers))
    size = EVALUATION_BATCH * batches
    return [(start, min(start + size, num_examples)) for start in range(0, num_examples, size)]


def grouped(sizes: Sequence[int], group_size: int) -> list[list[int]]:
    """Cut positions into groups of clients of similar size, largest first.

    The rule knows nothing of workers: every worker gets the same bytes for a group. Free workers
    take the groups in this order, which keeps all workers busy to the end.

    Examples
    --------
    >>> grouped([10, 30, 20, 40, 50], 2)
    [[4, 3], [1, 2], [0]]
    """
    order = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    return [order[i : i + group_size] for i in range(0, len(order), group_size)]


def train_or_fail(
    train: Callable[[Work], list[Trained]], work: Work, on_failure: OnClientFailure
) -> list[Trained | Refusal]:
    """Train a group of clients; of a group that fails, each by itself.

    Who fails depends on the tasks alone, if what they run does: a dropped client is dropped
    again when the run is repeated, at any number of workers.

    Parameters
    ----------
    train
        Trains the clients of a group, or raises.
    work
        The group.
    on_failure
        What to do about a client whose training raises.
    """
    try:
        return [*train(work)]
    except UserError:  # a setting that cannot work for anybody
        raise
    except Exception as error:  # a network, an optimiser or a data set may raise anything
        if on_failure == "stop":
            raise _stopped(work.tasks, error) from error
        if len(work.tasks) == 1:
            return [Refusal(work.tasks[0].client_id, f"training raised {describe(error)}")]
    singles = (work.part([index]) for index in range(len(work.tasks)))
    return [train_or_fail(train, single, on_failure)[0] for single in singles]


def _stopped(tasks: Sequence[TrainTask], error: Exception) -> TerraflError:
    names = " or ".join(task.client_id for task in tasks)
    return TerraflError(
        f"training client {names} failed in round {tasks[0].round}, iteration "
        f"{tasks[0].iteration}: {describe(error)}. The work so far is kept: fix the cause and "
        'continue with terrafl resume, or set on_client_failure = "drop" in the config.toml of the '
        "run to leave such clients out, and continue with terrafl resume --allow-drift."
    )
