"""What a simulated client reports: computed from its model, and only what was asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import LocalModel
from terrafl.engine.job import Trained, TrainTask
from terrafl.selection import Report
from terrafl.selection.final_layer import FinalLayer
from terrafl.selection.report import Need

__all__ = ["report_of", "updates_event"]


def report_of(
    task: TrainTask,
    trained: Trained,
    vector: NDArray[np.float32],
    *,
    num_examples: int,
    received: NDArray[np.float32],
    final_layer: FinalLayer,
    needs: Collection[Need],
) -> Report:
    """Build the report of one local training, given the model that is sent with it."""
    told: dict[Need, float | None] = {
        "loss": trained.loss,
        "squared_loss": trained.squared_loss,
        "duration_s": trained.duration_s,
    }
    measured = final_layer.measure(vector, received, needs)
    return Report(
        client_id=task.client_id,
        round=task.round,
        iteration=task.iteration,
        num_examples=num_examples,
        **{need: value for need, value in told.items() if need in needs},  # type: ignore[arg-type]  # keyed by Need
        **measured,  # type: ignore[arg-type]  # keyed by Need
    )


def updates_event(
    task: TrainTask,
    models: Sequence[LocalModel],
    received: NDArray[np.float32],
    final_layer: FinalLayer,
) -> dict[str, object]:
    """Return, for the journal, how far each client moved in the iteration of a task."""
    needs: tuple[Need, ...] = ("update_norm",)
    return {
        "event": "updates",
        "round": task.round,
        "iteration": task.iteration,
        "clients": [model.client_id for model in models],
        "update_norm": [
            final_layer.measure(model.vector, received, needs)["update_norm"] for model in models
        ],
    }
