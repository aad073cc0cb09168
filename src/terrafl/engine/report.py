"""What a simulated client reports: computed from its model, and only what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from terrafl.engine.job import Trained, TrainTask
from terrafl.models import Layout
from terrafl.selection import Report
from terrafl.selection.report import Need

__all__ = ["report_of"]

Update = NDArray[np.float64]


def report_of(
    task: TrainTask,
    trained: Trained,
    *,
    num_examples: int,
    received: NDArray[np.float32],
    layout: Layout,
    needs: Collection[Need],
) -> Report:
    r"""Build the report of one local training.

    The magnitude of the update of the final layer's parameters $p_i$ is

    .. math:: |\Delta w_k| = \sqrt{\sum_i \|\Delta p^k_i\|_F^2}

    with $\Delta p^k$ the client's parameters minus the received ones, in float64.
    """

    def update(place: slice) -> Update:
        return trained.vector[place].astype(np.float64) - received[place]

    def weight() -> Update:
        return update(layout.final_weight)

    def bias() -> Update:
        return update(layout.final_bias)

    def norm(*parts: Update) -> float:
        return float(np.sqrt(sum(np.square(part).sum() for part in parts)))

    answers: Mapping[Need, Callable[[], float | Update | None]] = {
        "update_norm": lambda: norm(weight(), bias()),  # eq. 2
        "weight_norm": lambda: norm(weight()),
        "bias_norm": lambda: norm(bias()),
        "weight_update": lambda: weight().reshape(len(bias()), -1),
        "bias_update": bias,
        "loss": lambda: trained.loss,
        "squared_loss": lambda: trained.squared_loss,
        "duration_s": lambda: trained.duration_s,
    }
    return Report(
        client_id=task.client_id,
        round=task.round,
        iteration=task.iteration,
        num_examples=num_examples,
        **{need: answers[need]() for need in needs},  # type: ignore[arg-type]  # keyed by Need
    )
