"""The server's side of the wire: what came back from a cohort, and what of it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from terrafl.algorithms import LocalModel
from terrafl.attacks import Attackers
from terrafl.engine.job import Trained, TrainTask
from terrafl.engine.report import report_of
from terrafl.models import Layout
from terrafl.selection import Cohort, Refusal, Report, Selector, judge
from terrafl.selection.final_layer import FinalLayer

__all__ = ["Border", "Crossed", "final_layer_of"]


@dataclass(frozen=True, slots=True)
class Crossed:
    """What passed the border, in the order of client ids, and what did not."""

    models: list[LocalModel]
    reports: tuple[Report, ...]
    refusals: list[Refusal]


@dataclass(frozen=True, slots=True)
class Border:
    """Turns what clients trained into models and reports that may be believed.

    Parameters
    ----------
    selector
        Who hears the reports.
    final_layer
        Where it lies in a model.
    attackers
        Clients that send something else than they should, if there are any.
    """

    selector: Selector
    final_layer: FinalLayer
    attackers: Attackers | None = None

    def cross(
        self,
        received: NDArray[np.float32],
        cohort: Cohort,
        tasks: Sequence[TrainTask],
        trained: Sequence[Trained],
        sizes: Sequence[int],
    ) -> Crossed:
        """Judge the answers of a cohort to one request.

        Parameters
        ----------
        received
            The model that everybody started from.
        cohort, tasks
            Who was asked, and what.
        trained, sizes
            The models that came out, and the sizes of the data they were trained on.
        """
        vectors: dict[str, NDArray[np.float32]] = {}
        reports, damaged = [], []
        for task, result, size in zip(tasks, trained, sizes, strict=True):
            if result.failure:
                damaged.append(Refusal(task.client_id, result.failure))
                continue
            vector = self._model(received, task, result)
            if _is_finite(vector):
                vectors[task.client_id] = vector
                reports.append(self._report(received, task, result, vector, size))
            else:
                damaged.append(Refusal(task.client_id, "model: must be finite, and is not"))
        accepted, refused = judge(
            reports,
            cohort=cohort.clients,
            round=tasks[0].round,
            iteration=tasks[0].iteration,
            needs=self.selector.needs,
            shapes=self.final_layer.shapes,
        )
        draws = dict(zip(cohort.clients, cohort.draws, strict=True))
        steps = {t.client_id: r.num_steps for t, r in zip(tasks, trained, strict=True)}
        by_size = self.selector.averaging == "size"
        models = [
            LocalModel(
                client_id=report.client_id,
                vector=vectors[report.client_id],
                weight=float(draws[report.client_id] * (report.num_examples if by_size else 1)),
                num_steps=steps[report.client_id],
            )
            for report in accepted
        ]
        return Crossed(models, accepted, [*damaged, *refused])

    def _model(
        self, received: NDArray[np.float32], task: TrainTask, result: Trained
    ) -> NDArray[np.float32]:
        """Return the model that a client sends."""
        if self.attackers is None:
            return result.vector
        return self.attackers.model(task.client_id, result.vector, received)

    def _report(
        self,
        received: NDArray[np.float32],
        task: TrainTask,
        result: Trained,
        vector: NDArray[np.float32],
        size: int,
    ) -> Report:
        """Return the report that a client sends with it."""
        report = report_of(
            task,
            result,
            vector,
            num_examples=size,
            received=received,
            final_layer=self.final_layer,
            needs=self.selector.needs,
        )
        return report if self.attackers is None else self.attackers.report(report)


def final_layer_of(layout: Layout) -> FinalLayer:
    """Return where the final layer lies, for those who know nothing of networks."""
    bias = layout.final_bias
    return FinalLayer(layout.final_weight, bias, bias.stop - bias.start)


def _is_finite(vector: NDArray[np.float32]) -> bool:
    # NaN and infinity both show in the extremes; nothing the size of the model is allocated.
    return bool(np.isfinite(vector.min()) and np.isfinite(vector.max()))
