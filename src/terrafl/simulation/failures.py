"""When training a client fails: stop the run, or continue without that client."""

from collections.abc import Sequence
from typing import Protocol

from terrafl.errors import TerraflError, UserError, describe
from terrafl.records import Refusal
from terrafl.simulation.job import OnClientFailure, Trained, TrainTask, Work


class CanTrain(Protocol):
    """Trains a group of clients, see :class:`terrafl.simulation.trainer.Trainer`."""

    def train(self, work: Work) -> list[Trained]:
        """Train them all, or raise."""
        ...


def train_or_fail(
    trainer: CanTrain, work: Work, on_failure: OnClientFailure
) -> list[Trained | Refusal]:
    """Train a group of clients; of a group that fails, each by itself.

    Who fails depends on the tasks alone, if what they run does: a dropped client is dropped
    again when the run is repeated, at any number of workers.

    Parameters
    ----------
    trainer
        Trains.
    work
        The group.
    on_failure
        What to do about a client whose training raises.
    """
    try:
        return [*trainer.train(work)]
    except UserError:  # a setting that cannot work for anybody
        raise
    except Exception as error:  # a network, an optimiser or a data set may raise anything
        if on_failure == "stop":
            raise _stopped(work.tasks, error) from error
        if len(work.tasks) == 1:
            return [Refusal(work.tasks[0].client_id, f"training raised {describe(error)}")]
    singles = (work.part([index]) for index in range(len(work.tasks)))
    return [train_or_fail(trainer, single, on_failure)[0] for single in singles]


def _stopped(tasks: Sequence[TrainTask], error: Exception) -> TerraflError:
    names = " or ".join(task.client_id for task in tasks)
    return TerraflError(
        f"training client {names} failed in round {tasks[0].round}, iteration "
        f"{tasks[0].iteration}: {describe(error)}. The work so far is kept: fix the cause and "
        'continue with terrafl resume, or set on_client_failure = "drop" in the config.toml of the '
        "run to leave such clients out, and continue with terrafl resume --allow-drift."
    )
